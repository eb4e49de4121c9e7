import type { ContainerImage, Node, NodeCondition, NodeStatus } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';

/** What the machine is, as far as it does not change while the kubelet runs. */
export interface NodeFacts {
  readonly name: string;
  readonly address: string;
  /** Where the API servers reach its kubelet; absent: nowhere, or by a direct call. */
  readonly kubeletPort?: number;
  readonly hostname: string;
  /** Scheme of container ids: `process` in `process://...`. */
  readonly runtimeName: string;
  readonly labels: Readonly<Record<string, string>>;
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
  readonly now: number;
}

export const KUBELET_VERSION = 'v1.32.0';

export function defaultLabels({ name, nodeInfo }: NodeFacts): Record<string, string> {
  const { architecture, operatingSystem } = nodeInfo;
  return {
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': operatingSystem,
    'kubernetes.io/arch': architecture,
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': operatingSystem,
  };
}

export function newNode(state: NodeState): Node {
  const { facts } = state;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: facts.name, labels: { ...defaultLabels(facts), ...facts.labels } },
    spec: {},
    status: nodeStatus(state, undefined),
  };
}

/** Fields and conditions of others (volumes, network) are kept. */
export function nodeStatus(state: NodeState, old: NodeStatus | undefined): NodeStatus {
  const { facts } = state;
  return {
    ...old,
    addresses: [
      { address: facts.address, type: 'InternalIP' },
      { address: facts.hostname, type: 'Hostname' },
    ],
    allocatable: { ...facts.allocatable },
    capacity: { ...facts.capacity },
    conditions: nodeConditions(state, old?.conditions ?? []),
    daemonEndpoints: { kubeletEndpoint: { Port: facts.kubeletPort ?? 0 } },
    ...(state.images === undefined ? {} : { images: [...state.images] }),
    nodeInfo: {
      ...facts.nodeInfo,
      containerRuntimeVersion: state.runtimeVersion,
      kubeProxyVersion: '',
      kubeletVersion: KUBELET_VERSION,
    },
  };
}

function nodeConditions({ notReady, now }: NodeState, old: readonly NodeCondition[]): NodeCondition[] {
  const time = formatTime(now);
  const pressure = (type: string, what: string): NodeCondition => ({
    type,
    status: 'False',
    reason: `KubeletHas${what}`,
    message: `kubelet has ${PRESSURE_TEXT[what] ?? ''}`,
  });
  const own: readonly NodeCondition[] = [
    pressure('MemoryPressure', 'SufficientMemory'),
    pressure('DiskPressure', 'NoDiskPressure'),
    pressure('PIDPressure', 'SufficientPID'),
    notReady === undefined
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: notReady },
  ];
  const stamped = own.map((condition) => {
    const before = old.find(({ type }) => type === condition.type);
    const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : undefined;
    return { ...condition, lastHeartbeatTime: time, lastTransitionTime: lastTransitionTime ?? time };
  });
  return [...old.filter(({ type }) => !own.some((condition) => condition.type === type)), ...stamped];
}

const PRESSURE_TEXT: Readonly<Record<string, string>> = {
  SufficientMemory: 'sufficient memory available',
  NoDiskPressure: 'no disk pressure',
  SufficientPID: 'sufficient PID available',
};

/** Without the heartbeat times: those alone are no reason to write. */
export function withoutHeartbeats(status: NodeStatus): NodeStatus {
  const conditions = (status.conditions ?? []).map(({ lastHeartbeatTime: _time, ...condition }) => condition);
  return { ...status, conditions: conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1)) };
}
