import {
  isMirrorPod,
  type Service as KubeService,
  PODS,
  type Pod,
  parseIncarnation,
  SERVICES,
  type SelfFencingPolicy,
} from '@holdfast/api';
import { type Bus, nodePodsPattern } from '@holdfast/bus';
import {
  type ApiClient,
  type ApiHandler,
  createEventRecorder,
  createInformer,
  type EventRecorder,
  type Informer,
} from '@holdfast/client';
import { notFound, parseQuantity, value } from '@holdfast/machinery';
import type { Clock, Ids, Log, Random, Service, Tracer } from '@holdfast/platform';
import type { NodeLogs } from './adapters/node-log-directory.ts';
import type { NodeVolumeDirectories } from './adapters/node-volume-directories.ts';
import { VolumeWorkers } from './adapters/volume-workers.ts';
import type { ContainerManager } from './container/container-stop.ts';
import type { ProbeNetwork } from './container/probe-network.ts';
import { type CsiSettings, CsiSupport } from './csi/csi-support.ts';
import type { UsageByPod } from './csi/volume-stats.ts';
import { type ClusterDns, NO_CLUSTER_DNS } from './domain/network-identity.ts';
import type { NodeFacts } from './domain/node-status.ts';
import { type ApiPlace, withApiAt } from './domain/service-variables.ts';
import type { UserRangePool } from './domain/user-ranges.ts';
import { Evictor } from './eviction/evictor.ts';
import type { PressureCondition } from './eviction/signals.ts';
import { type EvictionConfig, reservedFor } from './eviction/thresholds.ts';
import { GarbageCollector } from './garbage/collector.ts';
import { keptLives } from './garbage/decide-containers.ts';
import type { GarbagePolicy } from './garbage/policy.ts';
import type { NodeAddress } from './node/node-address.ts';
import { createNodeAdmission } from './node/node-admission.ts';
import { type BoundIncarnation, NodeAgent } from './node/node-agent.ts';
import { RuntimeMonitor } from './node/runtime-monitor.ts';
import { UserRanges } from './node/user-ranges.ts';
import { PodManager } from './pod/pod-manager.ts';
import { type StaticPodSource, StaticPods } from './pod/static-pods.ts';
import type { ContainerRuntime } from './runtime/port.ts';
import { ExclusiveStarts } from './self-fencing/exclusive-starts.ts';
import { PromiseKeeper } from './self-fencing/promise-keeper.ts';
import { createNodeApi } from './server/node-api.ts';
import { type LogRequest, podLogs } from './server/pod-logs.ts';
import { NodeShutdown } from './shutdown/node-shutdown.ts';
import type { ShutdownPeriod } from './shutdown/plan.ts';
import { createNodeStats, type MachineProbe } from './stats/node-stats.ts';
import type { NodeStats } from './stats/port.ts';
import { ProbeMetrics } from './stats/probe-metrics.ts';
import { createStatsRoutes, type StatsRoutes } from './stats/routes.ts';
import { VolumeAttachments } from './volumes/volume-attachments.ts';
import { VolumeReclaimer } from './volumes/volume-reclaimer.ts';

export interface KubeletDeps {
  /** Absent: no files of the machine are shown. */
  readonly files?: NodeLogs;
  readonly client: ApiClient;
  /** Without it the kubelet watches the API. */
  readonly bus?: Bus | undefined;
  readonly runtime: ContainerRuntime;
  readonly network: ProbeNetwork;
  /** What a simulated machine plays in place of the command of a container. */
  readonly scriptOf?: ((pod: Pod, container: string) => string | undefined) | undefined;
  readonly node: NodeFacts;
  /** Absent: the node keeps the address of `node`. */
  readonly address?: NodeAddress | undefined;
  /** The incarnation of `node` that this kubelet had bound. Absent: containers do not outlive the kubelet. */
  readonly bound?: BoundIncarnation | undefined;
  /** Absent: there is no cluster DNS. */
  readonly dns?: ClusterDns | undefined;
  /** Pods that do not ask for the machine's network have one of their own, with the addresses of services. */
  readonly ownNetworks?: boolean;
  /** The API's address for pods that cannot reach the address of its service. */
  readonly api?: (() => ApiPlace) | undefined;
  /** Absent: every pod comes from the API. */
  readonly staticPods?: StaticPodSource | undefined;
  /** Absent: the machine is not measured, and `stats/summary` has no data about it. */
  readonly machine?: MachineProbe | undefined;
  /** Absent: the node has no CSI drivers. */
  readonly csi?: CsiSettings | undefined;
  /** The directories of local-path volumes. Absent: the node has none. */
  readonly directories?: NodeVolumeDirectories | undefined;
  /** Absent: the node ends no pods to live on. */
  readonly eviction?: EvictionConfig | undefined;
  /** Absent: unused images stay, and the last two lives of containers. */
  readonly garbage?: GarbagePolicy | undefined;
  /** Grace periods of pods when the node shuts down; none: they continue to run. */
  readonly shutdownPeriods?: readonly ShutdownPeriod[] | undefined;
  /** Absent: the node keeps nothing of containers beside their runtime. */
  readonly containerManager?: ContainerManager | undefined;
  /**
   * The pods that the node promises to end when it is disconnected. Absent, or with a runtime without a guard: none.
   */
  readonly selfFencing?: SelfFencingPolicy | undefined;
  readonly selfFencingSeconds?: number | undefined;
  /** Ids that pods with users of their own get. Absent: the feature gate UserNamespacesSupport is off. */
  readonly userRanges?: UserRangePool | undefined;
  /**
   * For pods with user ids that would be users of the machine. Absent: such ids are refused when the machine uses them.
   */
  readonly ownIds?: UserRangePool | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
}

export interface Kubelet extends Service {
  /** Empty when the node is ready and the API knows it; else sentences on what is wrong. */
  readonly health: () => readonly string[];
  /** The log of a container of this node; rejects with `StatusError`. */
  logs(request: LogRequest): Promise<AsyncIterable<Uint8Array>>;
  /** Ends the pods before the machine goes down, if the node is set up for it. To be called before `stop`. */
  shutDown(): Promise<void>;
  /** After `stop`, when no process of the node is left: nothing stays mounted. Rejects never, and takes seconds at most. */
  unmountAll(): Promise<void>;
  /** Handles requests of API servers: `GET /containerLogs/<namespace>/<pod>/<container>`. */
  readonly api: ApiHandler;
}

/**
 * The agent of one node. `start` resolves immediately: it registers the node and adopts its pods as soon as the API
 * responds. `stop` leaves every container running, as a crash does; the caller owns the runtime.
 */
export function createKubelet(deps: KubeletDeps): Kubelet {
  const { client, clock, runtime, node } = deps;
  const log = deps.log.child({ node: node.name });
  const events = createEventRecorder({ client, component: 'kubelet', host: node.name, clock, ids: deps.ids, log });
  const informer = createPodInformer({ ...deps, log });
  const services = createServices({ ...deps, log });
  const admission = createNodeAdmission({
    client,
    facts: node,
    node: () => agent.seen(),
    closed: () => shutdown.refusal(),
    pressure: () => keepers.conditions(),
  });
  const volumeWork = runtime.abilities === undefined ? undefined : new VolumeWorkers({ clock });
  const csi = createCsi({ ...deps, log, volumeWork }, () => ({ manager, attachments }));
  const attachments = createAttachments(deps, () => ({ manager, agent, csi }));
  const probeMetrics = new ProbeMetrics();
  const promise = createPromise({ ...deps, log }, () => agent.beatSoon());
  const starts = { attachments, exclusives: startsOf(deps, promise), volumeWork, probeMetrics };
  const statics = createStaticPods({ ...deps, log }, informer);
  const manager: PodManager = new PodManager({
    client,
    informer,
    runtime,
    clock,
    log,
    nodeName: node.name,
    worker: {
      ...workerDeps({ ...deps, log, events, services }),
      ...starts,
      csi: csi?.volumes,
      admission,
    },
    statics,
    onReadiness: () => agent.beatSoon(),
  });
  const stats = createNodeStats({ runtime, clock, pods: () => manager.active(), machine: deps.machine });
  const agent: KeptNode = keepNode({ ...deps, log }, manager, {
    pressure: () => keepers.conditions(),
    isClosed: () => shutdown.hasBegun(),
    attachments,
    promise,
  });
  const shutdown = createShutdown({ ...deps, log }, manager, agent);
  const keepers = createKeepers({ ...deps, log }, { events, stats, manager, agent });
  const reclaimer = createReclaimer({ ...deps, log }, manager);
  const podOf = podsOf(informer, statics);
  const logs = logsOf(deps, podOf);
  return {
    name: `kubelet ${node.name}`,
    logs,
    shutDown: () => shutdown.run(),
    health: () => agent.problems(),
    api: createNodeApi({
      ...deps,
      logs,
      log,
      pods: () => informer.list(),
      pod: podOf,
      numbers: numbersOf(node, stats, {
        manager,
        evictions: () => keepers.evictions(),
        ...(csi === undefined ? {} : { volumes: () => csi.stats.current() }),
        probes: () => probeMetrics.render(),
      }),
    }),
    unmountAll: async () => csi?.unmountAll(),
    ...lifeOf(deps.address, { events, informer, services, manager, agent, keepers, reclaimer, csi, volumeWork }),
  };
}

interface KubeletParts {
  readonly events: ReturnType<typeof createEventRecorder>;
  readonly informer: Informer<Pod>;
  readonly services: Informer<KubeService> | undefined;
  readonly manager: PodManager;
  readonly agent: KeptNode;
  readonly keepers: { start(): void; stop(): void };
  readonly reclaimer: VolumeReclaimer | undefined;
  readonly csi: CsiSupport | undefined;
  readonly volumeWork: VolumeWorkers | undefined;
}

const lifeOf = (
  address: NodeAddress | undefined,
  { events, informer, services, manager, agent, keepers, reclaimer, csi, volumeWork }: KubeletParts,
): Pick<Service, 'start' | 'stop'> => ({
  start: async () => {
    followAddress(address, manager, agent);
    await events.start();
    await informer.start();
    await services?.start();
    manager.start();
    agent.start();
    keepers.start();
    await reclaimer?.start();
    csi?.start();
  },
  stop: async () => {
    address?.stop();
    keepers.stop();
    await reclaimer?.stop();
    // Calls to drivers end before the workers that wait for them.
    await csi?.stop();
    await agent.stop();
    const stopped = manager.stop();
    await Promise.all([informer.stop(), services?.stop()]);
    await stopped;
    volumeWork?.close();
    await events.stop();
  },
});

function createPromise(
  { client, clock, log, node, runtime, selfFencing: policy, selfFencingSeconds: promiseSeconds }: KubeletDeps,
  onChange: () => void,
): PromiseKeeper | undefined {
  const { guard } = runtime;
  if (guard === undefined) return undefined;
  // Revokes the promise of an earlier kubelet, even when no promise follows.
  if (policy === undefined && guard.deadline() === undefined) return undefined;
  const { machine = node.nodeInfo.machineID, boot = node.nodeInfo.bootID } = parseIncarnation(node.incarnation) ?? {};
  const holder = `${machine}/${boot}`;
  const words = { nodeName: node.name, holder, policy, promiseSeconds };
  return new PromiseKeeper({ client, clock, log, ...words, guard, runtime, onChange });
}

const startsOf = (
  { client, node, selfFencing: policy }: KubeletDeps,
  keeper: PromiseKeeper | undefined,
): ExclusiveStarts => new ExclusiveStarts({ client, nodeName: node.name, keeper, policy });

/** The node and the pods on its network say where they are now. */
function followAddress(address: NodeAddress | undefined, manager: PodManager, agent: KeptNode): void {
  address?.onChange(() => {
    agent.beatSoon();
    manager.lookAgain();
  });
  address?.start();
}

function createAttachments(
  { client, node }: KubeletDeps,
  parts: () => { readonly manager: PodManager; readonly agent: KeptNode; readonly csi: CsiSupport | undefined },
): VolumeAttachments {
  return new VolumeAttachments({
    client,
    nodeName: node.name,
    isHere: (uid) => parts().manager.has(uid) || parts().csi?.volumes.holds(uid) === true,
    onChange: () => parts().agent.beatSoon(),
  });
}

function createCsi(
  deps: KubeletDeps & { readonly volumeWork: VolumeWorkers | undefined },
  parts: () => { readonly manager: PodManager; readonly attachments: VolumeAttachments },
): CsiSupport | undefined {
  const { csi: settings, runtime, node } = deps;
  if (settings === undefined) return undefined;
  return new CsiSupport({
    ...deps,
    settings,
    nodeName: node.name,
    onDriver: () => parts().manager.lookAgain(),
    isSettled: () => parts().manager.notReady()?.kind !== 'starting',
    isHere: (uid) => parts().manager.has(uid),
    onGone: (uid) => {
      runtime.volumes?.remove(uid);
      parts().attachments.observe(uid, undefined, []);
    },
  });
}

function createReclaimer(deps: KubeletDeps, manager: PodManager): VolumeReclaimer | undefined {
  const { directories, node } = deps;
  if (directories === undefined) return undefined;
  return new VolumeReclaimer({
    ...deps,
    directories,
    nodeName: node.name,
    mayUse: (claim) => manager.mayUse(claim),
  });
}

/** Logs and streams of a mirror are those of the pod behind it. */
function podsOf(informer: Informer<Pod>, statics: StaticPods | undefined) {
  return (namespace: string, name: string): Pod | undefined => {
    const found = informer.get({ namespace, name });
    return statics === undefined ? found : statics.behind(found);
  };
}

function logsOf(
  { runtime, clock }: KubeletDeps,
  podOf: (namespace: string, name: string) => Pod | undefined,
): Kubelet['logs'] {
  return async (request) => {
    const { namespace, podName: name } = request;
    const pod = podOf(namespace, name);
    if (pod === undefined) throw notFound({ group: '', resource: 'pods', name });
    return podLogs({ runtime, clock }, pod, request);
  };
}

type KeptNode = Pick<NodeAgent, 'beatSoon' | 'problems' | 'seen' | 'start' | 'stop'>;

/** The Node object also reports the state of the container runtime. */
function keepNode(
  { client, clock, log, node: facts, runtime, address, bound }: KubeletDeps,
  manager: PodManager,
  state: {
    readonly pressure: () => readonly PressureCondition[];
    readonly isClosed: () => boolean;
    readonly attachments: VolumeAttachments;
    readonly promise: PromiseKeeper | undefined;
  },
): KeptNode {
  const monitor: RuntimeMonitor = new RuntimeMonitor({
    runtime,
    runtimeName: facts.runtimeName,
    clock,
    log,
    onChange: () => agent.beatSoon(),
    onReturn: () => manager.lookAgain(),
  });
  const agent: NodeAgent = new NodeAgent({
    client,
    clock,
    log,
    facts,
    ...(address === undefined ? {} : { address: () => address.look() }),
    runtimeVersion: () => monitor.version(),
    images: () => monitor.images(),
    notReady: () => (state.isClosed() ? SHUTTING_DOWN : (manager.notReady() ?? monitor.fault())),
    pressure: state.pressure,
    volumes: state.attachments,
    promise: state.promise,
    onVanished: () => manager.verifyAll(),
    onDisplaced: () => {
      manager.displaced().catch((error: unknown) => log.error('pods of a displaced machine not ended', { error }));
    },
    bound,
  });
  return {
    beatSoon: () => agent.beatSoon(),
    seen: () => agent.seen(),
    problems: () => agent.problems(),
    start: () => {
      monitor.start();
      agent.start();
    },
    stop: async () => {
      monitor.stop();
      await agent.stop();
      await state.promise?.stop();
    },
  };
}

const SHUTTING_DOWN = { kind: 'fault', reason: 'node is shutting down' } as const;

function createShutdown(
  { shutdownPeriods: periods = [], clock, log }: KubeletDeps,
  manager: PodManager,
  agent: KeptNode,
): NodeShutdown {
  return new NodeShutdown({
    periods,
    pods: () => manager.active(),
    end: (uid, failure) => manager.end(uid, failure),
    onBegin: () => agent.beatSoon(),
    clock,
    log,
  });
}

function numbersOf(
  { name, capacity }: NodeFacts,
  stats: NodeStats,
  counted: {
    readonly manager: PodManager;
    readonly evictions: () => ReadonlyMap<string, number> | undefined;
    readonly probes: () => string;
    readonly volumes?: () => Promise<UsageByPod>;
  },
): StatsRoutes {
  const cores = value(parseQuantity(capacity['cpu'] ?? '0'));
  return createStatsRoutes({
    nodeName: name,
    cores,
    stats,
    evictions: () => counted.evictions() ?? new Map(),
    probes: counted.probes,
    relists: () => counted.manager.relists.render(),
    ...(counted.volumes === undefined ? {} : { volumes: counted.volumes }),
  });
}

interface EvictorParts {
  readonly events: EventRecorder;
  readonly stats: NodeStats;
  readonly manager: PodManager;
  readonly agent: KeptNode;
}

/** Keeps the node from running out of resources. */
function createKeepers(deps: KubeletDeps, parts: EvictorParts) {
  const collector = createCollector(deps, parts.events, parts.agent);
  const evictor = createEvictor(deps, { ...parts, collector });
  const all = [evictor, collector].filter((each) => each !== undefined);
  return {
    conditions: (): readonly PressureCondition[] => evictor?.conditions() ?? [],
    evictions: () => evictor?.evictions(),
    start: () => {
      for (const keeper of all) keeper.start();
    },
    stop: () => {
      for (const keeper of all) keeper.stop();
    },
  };
}

function createEvictor(
  { eviction: config, clock, log, node }: KubeletDeps,
  { events, stats, manager, agent, collector }: EvictorParts & { readonly collector: GarbageCollector | undefined },
): Evictor | undefined {
  if (config === undefined) return undefined;
  const [capacity, allocatable] = [node.capacity, node.allocatable].map(({ memory = '0' }) =>
    value(parseQuantity(memory)),
  );
  return new Evictor({
    config,
    stats,
    allocatableMemory: (allocatable ?? 0) + reservedFor(config, 'memory.available', capacity ?? 0),
    clock,
    log,
    events,
    node: () => agent.seen(),
    ...(collector === undefined ? {} : { reclaim: () => collector.reclaim() }),
    end: (uid, failure) => manager.end(uid, failure),
    onConditions: () => agent.beatSoon(),
  });
}

/** A runtime that only pretends has nothing to collect. */
function createCollector(
  { garbage: policy, runtime, clock, log, machine }: KubeletDeps,
  events: EventRecorder,
  agent: KeptNode,
): GarbageCollector | undefined {
  if (policy === undefined || runtime.abilities === undefined) return undefined;
  const roomOf = async (path: string) => machine?.room(path);
  return new GarbageCollector({ policy, runtime, clock, log, events, node: () => agent.seen(), roomOf });
}

/** The collector handles containers that are younger than the policy's minimum age. */
const livesKept = ({ garbage }: KubeletDeps): { readonly keptLives?: number } =>
  garbage === undefined
    ? {}
    : { keptLives: garbage.containers.minAgeMs > 0 ? Number.POSITIVE_INFINITY : keptLives(garbage.containers) };

function createStaticPods(
  { staticPods: source, client, clock, log, node }: KubeletDeps,
  informer: Informer<Pod>,
): StaticPods | undefined {
  if (source === undefined) return undefined;
  const mirrors = (): readonly Pod[] => informer.list().filter(isMirrorPod);
  return new StaticPods({ source, client, clock, log, nodeName: node.name, mirrors });
}

function createPodInformer({ client, bus, node, clock, random, log }: KubeletDeps): Informer<Pod> {
  return createInformer<Pod>({
    client,
    bus,
    resource: PODS,
    selection: { fieldSelector: `spec.nodeName=${node.name}` },
    subjects: [nodePodsPattern(node.name)],
    clock,
    random,
    log,
  });
}

/**
 * The Services for environment variables. They are watched instead of requested per start, and not at all when the
 * runtime has no environment. Not over the bus: there a node's permissions cover only its own pods.
 */
function createServices({ client, runtime, clock, random, log }: KubeletDeps): Informer<KubeService> | undefined {
  if (runtime.abilities === undefined) return undefined;
  return createInformer<KubeService>({ client, bus: undefined, resource: SERVICES, subjects: [], clock, random, log });
}

interface WorkerParts {
  readonly events: ReturnType<typeof createEventRecorder>;
  readonly services: Informer<KubeService> | undefined;
}

function workerDeps(deps: KubeletDeps & WorkerParts) {
  const { client, runtime, events, clock, log, tracer, network, node, services, dns = NO_CLUSTER_DNS } = deps;
  return {
    scriptOf: deps.scriptOf,
    tracer,
    client,
    runtime,
    events,
    clock,
    log,
    network,
    node: {
      // Read each time, because it may change.
      get address() {
        return deps.address?.current() ?? node.address;
      },
      hostname: node.hostname,
      operatingSystem: node.nodeInfo.operatingSystem,
      runtimeName: node.runtimeName,
      ...livesKept(deps),
      watchesFiles: deps.eviction !== undefined && deps.machine !== undefined,
    },
    allocatable: node.allocatable,
    directories: deps.directories,
    ranges: new UserRanges(deps.userRanges, deps.ownIds),
    containerManager: deps.containerManager,
    dns,
    services: async (pod: Pod) => {
      await services?.synced();
      const known = services?.list() ?? [];
      const reachesServices = deps.ownNetworks === true && pod.spec.hostNetwork !== true;
      return deps.api === undefined || reachesServices ? known : withApiAt(known, deps.api());
    },
  };
}
