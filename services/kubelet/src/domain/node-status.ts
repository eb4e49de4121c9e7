import {
  ARCH_LABEL,
  type ContainerImage,
  HOSTNAME_LABEL,
  isExtendedResource,
  NODE_INCARNATION,
  type Node,
  type NodeCondition,
  type NodeStatus,
  OLD_ARCH_LABEL,
  OLD_OS_LABEL,
  OS_LABEL,
  podOfVolumeInUse,
  SELF_FENCING_CONDITION,
  type Taint,
} from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type { PressureCondition } from '../eviction/signals.ts';
import { KUBELET_PORT_DEFAULT } from '../limits.ts';

/** Properties of the machine that do not change while the kubelet runs. */
export interface NodeFacts {
  readonly name: string;
  /** The identity of this machine, see `NodeIncarnation`; absent when unknown. */
  readonly incarnation?: string;
  /** The address at the start; see `NodeAddress`. */
  readonly address: string;
  /** The kubelet's port for API servers. Absent: they call it directly, and the node reports the default port. */
  readonly kubeletPort?: number;
  readonly hostname: string;
  /** Scheme of container ids: `process` in `process://...`. */
  readonly runtimeName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Only of a node that is new: later they are others' to change. */
  readonly taints?: readonly Taint[];
  /** `cpu`, `memory`, `ephemeral-storage`, `pods`, ... as quantities. */
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly nodeInfo: Omit<NodeStatus['nodeInfo'], 'containerRuntimeVersion' | 'kubeletVersion' | 'kubeProxyVersion'>;
}

export interface NodeState {
  readonly facts: NodeFacts;
  readonly runtimeVersion: string;
  readonly images?: readonly ContainerImage[] | undefined;
  /** Why the node is not ready; `undefined` = it is. */
  readonly notReady: string | undefined;
  /** Exhausted resources. */
  readonly pressure?: readonly PressureCondition[];
  /** Volumes that its pods may be using. */
  readonly volumesInUse?: readonly string[] | undefined;
  /** True while the node's promise is in force. Absent: it never promises. */
  readonly isPromising?: boolean | undefined;
  readonly now: number;
}

export const KUBELET_VERSION = 'v1.32.0';

export function defaultLabels({ name, nodeInfo }: NodeFacts): Record<string, string> {
  const { architecture, operatingSystem } = nodeInfo;
  return {
    [OLD_ARCH_LABEL]: architecture,
    [OLD_OS_LABEL]: operatingSystem,
    [ARCH_LABEL]: architecture,
    [HOSTNAME_LABEL]: name,
    [OS_LABEL]: operatingSystem,
  };
}

export function newNode(state: NodeState): Node {
  const { facts } = state;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: facts.name,
      labels: { ...defaultLabels(facts), ...facts.labels },
      ...(facts.incarnation === undefined ? {} : { annotations: { [NODE_INCARNATION]: facts.incarnation } }),
    },
    spec: facts.taints === undefined || facts.taints.length === 0 ? {} : { taints: [...facts.taints] },
    status: nodeStatus(state, undefined),
  };
}

type Amounts = Readonly<Record<string, string>>;

/** Extended resources that an administrator advertises: whoever writes them into the capacity of a node counts them. */
const advertised = (facts: NodeFacts, capacity: Amounts = {}): Amounts =>
  Object.fromEntries(
    Object.entries(capacity).filter(
      ([name]) => isExtendedResource(name) && ownValue(facts.capacity, name) === undefined,
    ),
  );

/** All of what is advertised is there for pods. */
export const allocatableWithAdvertised = (facts: NodeFacts, capacity: Amounts | undefined): Amounts => ({
  ...facts.allocatable,
  ...advertised(facts, capacity),
});

/** Fields and conditions of others (volumes, network) are kept. */
export function nodeStatus(state: NodeState, old: NodeStatus | undefined): NodeStatus {
  const { facts } = state;
  return {
    ...old,
    addresses: [
      { address: facts.address, type: 'InternalIP' },
      { address: facts.hostname, type: 'Hostname' },
    ],
    allocatable: allocatableWithAdvertised(facts, old?.capacity),
    capacity: { ...facts.capacity, ...advertised(facts, old?.capacity) },
    conditions: nodeConditions(state, old?.conditions ?? []),
    daemonEndpoints: { kubeletEndpoint: { Port: facts.kubeletPort ?? KUBELET_PORT_DEFAULT } },
    ...(state.images === undefined ? {} : { images: [...state.images] }),
    ...volumesOf(state, old),
    nodeInfo: {
      ...facts.nodeInfo,
      containerRuntimeVersion: state.runtimeVersion,
      kubeProxyVersion: '',
      kubeletVersion: KUBELET_VERSION,
    },
  };
}

/** An emptied list must be sent explicitly: a patch keeps omitted fields. */
function volumesOf({ volumesInUse = [] }: NodeState, old: NodeStatus | undefined): Pick<NodeStatus, 'volumesInUse'> {
  const others = (old?.volumesInUse ?? []).filter((entry) => podOfVolumeInUse(entry) === undefined);
  const all = [...others, ...volumesInUse];
  return all.length === 0 && old?.volumesInUse === undefined ? {} : { volumesInUse: all };
}

function nodeConditions(
  { notReady, pressure = [], isPromising, now }: NodeState,
  old: readonly NodeCondition[],
): NodeCondition[] {
  const time = formatTime(now);
  const own: readonly NodeCondition[] = [
    ...PRESSURES.map((type) => pressureCondition(type, pressure.includes(type))),
    ...(isPromising === undefined ? [] : [PROMISES[isPromising ? 'held' : 'none']]),
    notReady === undefined
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: notReady },
  ];
  const stamped = own.map((condition) => {
    const before = old.find(({ type }) => type === condition.type);
    const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : undefined;
    return { ...condition, lastHeartbeatTime: time, lastTransitionTime: lastTransitionTime ?? time };
  });
  const others = old.filter(({ type }) => type !== SELF_FENCING_CONDITION);
  return [...others.filter(({ type }) => !own.some((condition) => condition.type === type)), ...stamped];
}

const PROMISES = {
  held: {
    type: SELF_FENCING_CONDITION,
    status: 'True',
    reason: 'WatchdogArmed',
    message: 'the watchdog ends exclusive pods when the API acknowledges no renewal for 8 s',
  },
  none: {
    type: SELF_FENCING_CONDITION,
    status: 'False',
    reason: 'NothingPromised',
    message: 'no promise is in force: pods of this node wait when it is lost',
  },
} as const;

const PRESSURES: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

function pressureCondition(type: PressureCondition, has: boolean): NodeCondition {
  const [reason, message] = PRESSURE_TEXTS[type][has ? 'has' : 'hasNot'];
  return { type, status: has ? 'True' : 'False', reason: `KubeletHas${reason}`, message: `kubelet has ${message}` };
}

type ReasonAndMessage = readonly [string, string];

const PRESSURE_TEXTS: Readonly<
  Record<PressureCondition, { readonly has: ReasonAndMessage; readonly hasNot: ReasonAndMessage }>
> = {
  MemoryPressure: {
    has: ['InsufficientMemory', 'insufficient memory available'],
    hasNot: ['SufficientMemory', 'sufficient memory available'],
  },
  DiskPressure: { has: ['DiskPressure', 'disk pressure'], hasNot: ['NoDiskPressure', 'no disk pressure'] },
  PIDPressure: {
    has: ['InsufficientPID', 'insufficient PID available'],
    hasNot: ['SufficientPID', 'sufficient PID available'],
  },
};

/** Without the heartbeat times: these alone do not justify a write. */
export function withoutHeartbeats(status: NodeStatus): NodeStatus {
  const conditions = (status.conditions ?? []).map(({ lastHeartbeatTime: _time, ...condition }) => condition);
  return { ...status, conditions: conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1)) };
}
