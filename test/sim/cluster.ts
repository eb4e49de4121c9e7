import { formatIncarnation, type KubeObject, type ResourceRef } from '@holdfast/api';
import { FENCER } from '@holdfast/apiserver';
import type { Bus } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { type ApiClient, createApiClient, createInformer, type Informer } from '@holdfast/client';
import { type ControllerManagerDeps, createControllerManager } from '@holdfast/controller-manager';
import { createFencer, type FenceAgent, type FencerConfiguration } from '@holdfast/fencer';
import {
  type BoundIncarnation,
  type ContainerRuntime,
  createKubelet,
  HOLLOW_PROBE_NETWORK,
  hollowNodeFacts,
} from '@holdfast/kubelet';
import { createHollowRuntime, type HollowRuntime, type HollowState } from '@holdfast/kubelet/hollow-runtime';
import { ADMIN_USER, CONTROLLER_MANAGER_USER, nodeUser, POD_GC_USER, SCHEDULER_USER } from '@holdfast/pki/credentials';
import { invariant, type Log, type Service } from '@holdfast/platform';
import { createScheduler } from '@holdfast/scheduler';
import type { Store, StoredObject } from '@holdfast/store';
import { copyUpTo } from '@holdfast/store/copy';
import { createMemoryStore } from '@holdfast/store/memory';
import {
  AtMostOneOracle,
  BUS_PARTY,
  createSimulatedBus,
  type LinkQuality,
  type ProcessFact,
  type SimulatedMachine,
  SimulatedNetwork,
  SimulatedProcess,
  SimulationKernel,
} from '@holdfast/testing';
import { type Answered, ApiServers, type StoreOf } from './api-servers.ts';
import { Channels } from './channels.ts';
import { type Commit, CommittedState } from './committed.ts';
import { NodeDisks } from './node-disks.ts';
import { CAREFUL, OWNER, tokensOf } from './users.ts';

/** Revisions that an adoption leaves out. */
const ADOPTION_JUMP = 1_000_000_000_000;
export const API_PARTY = 'apiserver';
const SCHEDULER_PARTY = 'scheduler';
const MANAGER_PARTY = 'controller-manager';
const ANSWER_DEADLINE_MS = 60_000;

export interface SimClusterOptions {
  readonly seed: number;
  readonly nodes: number;
  /** StatefulSet pods whose identity the oracle guards. */
  readonly identities: RegExp;
  readonly labelsOf?: (node: string) => Readonly<Record<string, string>>;
  /** For every bus connection: the bus may lose, duplicate and delay. */
  readonly busQuality?: Partial<LinkQuality>;
  /** A party's log; silent by default. */
  readonly logOf?: (party: string) => Log;
  /** Called for every process that starts and ends, like the oracle. */
  readonly observe?: (fact: ProcessFact) => void;
  /** Planted bugs. `nodeIncarnations: 'off'`: kubelets do not say which machine they are. */
  readonly nodeIncarnations?: 'told' | 'off';
  readonly ownershipRule?: 'enforced' | 'off';
  /** Absent: the nodes promise nothing. `guard: 'broken'` plants a bug: they promise, and no watchdog keeps the deadline. */
  readonly selfFencing?: { readonly policy: 'exclusive' | 'all'; readonly guard?: 'broken' } | undefined;
  readonly podEviction?: NonNullable<ControllerManagerDeps['podEviction']>;
  readonly runtimeOf?: (runtime: ContainerRuntime) => ContainerRuntime;
  readonly storeOf?: StoreOf;
  /** What the store has at the start: the data of a cluster that ran before. Default: nothing. */
  readonly data?: SimData | undefined;
  /** `dropped`: Events are taken and not stored, as where they go to another system. */
  readonly events?: 'stored' | 'dropped';
  /** Numbers of replicas; two or more use leases. Default: 1. */
  readonly replicas?: { readonly apiServers?: number; readonly schedulers?: number; readonly managers?: number };
  /** `off`: all replicas act at once. */
  readonly leases?: 'off' | undefined;
  /** Called right after a process has sent a write. */
  readonly onWrite?: (party: string, path: string) => void;
  /** Called when a process of the control plane or a kubelet starts again. */
  readonly onRestart?: (party: string) => void;
  /** Called for every request that an API server has answered. */
  readonly onAnswer?: (answered: Answered) => void;
  readonly observeCommit?: (commit: Commit) => void;
  readonly defaultTolerationSeconds?: number;
  readonly nodeMonitorGraceSeconds?: number;
  /** Finished pods above this number are removed; 0: none are. */
  readonly terminatedPodThreshold?: number;
  /** Controllers and followers compare their caches with the API this often. A long time conceals nothing that they have lost. */
  readonly safetyCheckIntervalMs?: number;
}

export interface SimData {
  readonly objects: readonly StoredObject[];
  readonly revision: number;
  /** The virtual time at which the cluster with these data ended. The next one continues from then. Default: 0. */
  readonly atMs?: number;
  /** The machines of its nodes, by name: their containers continue. */
  readonly machines?: ReadonlyMap<string, SimMachineState>;
}

/** What a machine keeps while its kubelet is down. */
export interface SimMachineState {
  readonly runtime: HollowState;
  /** What is on its disk. */
  readonly bound: string | undefined;
}

/** One of several possible fencers, each its own process. */
export interface SimFencerOptions {
  readonly party: string;
  /** A fencer that starts again has the name of the one before. */
  readonly holder: string;
  readonly configuration: FencerConfiguration;
  readonly agents: ReadonlyMap<string, FenceAgent>;
}

interface SimNode {
  readonly process: SimulatedProcess;
  /** Below the kubelet. */
  readonly machine: SimulatedProcess;
  readonly runtime: HollowRuntime;
  /** On the disk of the machine. */
  readonly bound: BoundIncarnation;
  /** The kubelet's connection; it ends with the kubelet. */
  connection: ContainerRuntime;
  boots: number;
}

/** Under which name, and as which machine, a kubelet speaks. */
interface SimIdentity {
  readonly name: string;
  readonly incarnation: string;
}

const identityOf = (name: string, boot: number): SimIdentity => ({
  name,
  incarnation: formatIncarnation({ key: name, machine: name, boot: String(boot) }),
});

function createBound(kept?: string): BoundIncarnation {
  return {
    read: () => kept,
    write: (incarnation) => {
      kept = incarnation;
    },
  };
}

export interface SimTwin {
  /** Its name on the network and in the oracle's facts. */
  readonly party: string;
}

/** A process of the control plane that can crash alone. */
interface SimPart {
  readonly process: SimulatedProcess;
  readonly create: (machine: SimulatedMachine) => Service;
}

const partiesOf = (name: string, count = 1): readonly string[] =>
  Array.from({ length: count }, (_, i) => (i === 0 ? name : `${name}-${i + 1}`));

/** The shipping classes of the whole control plane and its nodes on one simulated network, with an oracle beside them. */
export class SimCluster {
  readonly kernel: SimulationKernel;
  readonly network: SimulatedNetwork;
  readonly oracle: AtMostOneOracle;
  /** The content of the store. */
  readonly committed = new CommittedState();
  readonly nodeNames: readonly string[];
  /** A user's client, on the apiserver's own machine. */
  readonly admin: ApiClient;
  /** A user without any right but those that a scenario gives to `OWNER`. */
  readonly owner: ApiClient;
  /** A user elsewhere, whom the network does not spare. */
  readonly watcher: ApiClient;
  /** A user whose deletions name the uid that they mean. */
  readonly careful: ApiClient;
  /** A user for each API server. */
  readonly racers: readonly ApiClient[];
  readonly #options: SimClusterOptions;
  readonly #hub: Bus = createLocalBus();
  readonly #apis: ApiServers;
  readonly apiParties: readonly string[];
  readonly #parts = new Map<string, SimPart>();
  readonly #services: readonly Service[];
  readonly #nodes = new Map<string, SimNode>();
  /** What is wrong with single subscriptions of processes. */
  readonly channels = new Channels();
  readonly disks = new NodeDisks();
  /** Parties whose credential the API servers take for expired. */
  readonly expired = new Set<string>();
  /** The share of requests that an API server refuses as too many. */
  readonly busy = new Map<string, number>();
  readonly forgetful = new Map<string, number>();
  #crashedAtMs = Number.NEGATIVE_INFINITY;
  readonly #fencers = new Map<string, SimulatedProcess>();

  constructor(options: SimClusterOptions) {
    this.#options = options;
    this.kernel = new SimulationKernel(options.seed, options.data?.atMs);
    this.network = new SimulatedNetwork(this.kernel);
    this.nodeNames = Array.from({ length: options.nodes }, (_, i) => `node-${i + 1}`);
    this.oracle = new AtMostOneOracle(this.kernel, (_, podName) => options.identities.test(podName));
    this.kernel.addOracle(this.oracle);
    for (const party of [BUS_PARTY, 'user', ...this.nodeNames]) this.network.join(party);
    const { apiServers, schedulers, managers } = options.replicas ?? {};
    this.apiParties = partiesOf(API_PARTY, apiServers);
    this.#apis = this.#createApis();
    for (const party of partiesOf(SCHEDULER_PARTY, schedulers)) this.#addPart(party, this.#createScheduler);
    for (const party of partiesOf(MANAGER_PARTY, managers)) this.#addPart(party, this.#createControllerManager);
    const users = this.#boot('user');
    this.admin = this.#clientFor(users, ADMIN_USER);
    this.owner = this.#clientFor(users, OWNER);
    this.watcher = this.#clientFor(users, ADMIN_USER);
    this.careful = this.#clientFor(users, CAREFUL);
    this.racers = this.apiParties.map((_, prefers) =>
      createApiClient({ transport: this.#apis.transportFor(users, prefers), token: ADMIN_USER, userAgent: ADMIN_USER }),
    );
    const nodes = this.nodeNames.map((name) => this.#createNode(name));
    const parts = [...this.#parts.keys()].map((party) => this.#bootPart(party));
    this.#services = [...this.#apis.services(), ...parts, ...nodes];
  }

  start(): void {
    for (const [name, { runtime }] of this.#options.data?.machines ?? []) this.#tellRunning(name, runtime);
    for (const service of this.#services) this.background(service.start());
  }

  /** A process of a user that follows all objects of a kind, as controllers do. */
  follow<T extends KubeObject>(party: string, resource: ResourceRef<T>): Informer<T> {
    this.network.join(party);
    const machine = this.#boot(party);
    const client = this.#clientFor(machine, ADMIN_USER);
    const bus = this.#busFor(machine);
    const informer = createInformer({ ...machine, ...this.#checks(), client, bus, resource });
    this.background(informer.start());
    return informer;
  }

  /** A user whom the network spares, of one API server. */
  userOf(apiParty: string): ApiClient {
    const handle = this.#apis.directTo(apiParty);
    invariant(handle !== undefined, 'the API server runs', { apiParty });
    const transport = { request: handle, close: () => Promise.resolve() };
    return createApiClient({ transport, token: ADMIN_USER, userAgent: ADMIN_USER });
  }

  /** The store of now, also while the API refuses. */
  get store(): Store {
    return this.#apis.store;
  }

  /**
   * The API server crashes, a copy of the data as they were at `revision` is put in place of them, and a new one starts. `adopted`: the
   * operator has said so to the store.
   */
  async restoreStore(revision: number, { adopted }: { readonly adopted: boolean }): Promise<void> {
    const { store } = this.#apis;
    const lineage = store.lineage();
    for (const party of this.apiParties) this.network.isolate(party);
    for (const service of this.#apis.services()) this.background(service.stop());
    const { ids } = this.#boot('restored-store');
    const copy = createMemoryStore({ ids, lineage });
    await copyUpTo(store, revision, copy);
    this.committed.replace((await copy.list('')).objects);
    const services = this.#apis.startOn(adopted ? await this.#adopt(copy) : copy);
    for (const party of this.apiParties) this.network.rejoin(party);
    for (const service of services) this.background(service.start());
  }

  /** A copy of what is stored and of the machines, for another cluster to continue from. */
  async data(): Promise<SimData> {
    const { objects, revision } = await this.#apis.data.list('');
    const machines = new Map(
      [...this.#nodes].map(([name, { runtime, bound }]) => [name, { runtime: runtime.state(), bound: bound.read() }]),
    );
    return { objects, revision, atMs: this.kernel.elapsedMs, machines };
  }

  /** The processes of the control plane that can crash alone, API servers first. */
  get controlPlane(): readonly string[] {
    return [...this.apiParties, ...this.#parts.keys()];
  }

  /** When an API server or a controller manager last crashed. */
  get crashedAtMs(): number {
    return this.#crashedAtMs;
  }

  /** Crashes one control plane process in the middle of its work. */
  crash(party: string): void {
    if (!party.startsWith(SCHEDULER_PARTY)) this.#crashedAtMs = this.kernel.elapsedMs;
    if (this.apiParties.includes(party)) this.#apis.crash(party);
    else this.#parts.get(party)?.process.crash();
  }

  /** Starts a replacement of a crashed process. */
  restart(party: string): void {
    const services = this.apiParties.includes(party) ? this.#apis.restart(party) : [this.#bootPart(party)];
    for (const service of services) this.background(service.start());
    this.#options.onRestart?.(party);
  }

  /** The process of a party, for pauses and clocks. */
  jumpClock(party: string, byMs: number): void {
    const process = this.#apis.processOf(party) ?? this.#parts.get(party)?.process ?? this.#nodes.get(party)?.process;
    process?.jumpClock(byMs);
  }

  /** A node and its machine have one clock. */
  setClockRate(party: string, rate: number): void {
    const node = this.#nodes.get(party);
    const process = this.#apis.processOf(party) ?? this.#parts.get(party)?.process ?? node?.process;
    process?.setClockRate(rate);
    node?.machine.setClockRate(rate);
  }

  /**
   * Another machine joins with a node's name and credential: with its own disk (a twin), or with a copy of the node's
   * disk (a clone). Nothing runs on it yet.
   */
  joinTwin(name: string, { copiedDisk }: { readonly copiedDisk: boolean }): SimTwin {
    const party = `${name}-twin`;
    this.network.join(party);
    const process = new SimulatedProcess(this.kernel, party);
    const machine = process.boot(this.#options.logOf?.(party));
    const runtime = this.#runtimeOn(this.#machineBelow(party), party);
    const incarnation = formatIncarnation({ key: copiedDisk ? name : party, machine: party, boot: 'first' });
    this.background(this.#kubeletOn(machine, runtime.connect(), { name, incarnation }, createBound()).start());
    return { party };
  }

  startFencer({ party, holder, configuration, agents }: SimFencerOptions): void {
    const process = new SimulatedProcess(this.kernel, party);
    this.#fencers.set(party, process);
    this.network.join(party);
    const machine = process.boot(this.#options.logOf?.(party));
    const client = this.#clientFor(machine, FENCER);
    this.background(
      createFencer({ ...machine, bus: this.#busFor(machine), client, holder, configuration, agents }).start(),
    );
  }

  /** Kills it in the middle of its work; responses to its requests may still arrive. */
  killFencer(party: string): void {
    this.network.isolate(party);
    this.#fencers.get(party)?.crash();
  }

  /** The node and the control plane do not hear each other; nodes and users still reach it. */
  cutFromMasters(name: string): void {
    for (const master of [...this.apiParties, BUS_PARTY]) {
      this.network.block(name, master);
      this.network.block(master, name);
    }
  }

  /** The machine is off: nothing runs on it, nothing reaches it. */
  powerOff(name: string): void {
    this.network.isolate(name);
    const { process, runtime, connection } = this.#machineOf(name);
    process.crash();
    this.background(connection.close());
    runtime.powerOff();
  }

  /** While it is off: its disk has nothing of its containers any more. */
  loseContainers(name: string): void {
    this.#machineOf(name).runtime.loseContainers();
  }

  /** The processes of a pod end by themselves. */
  killProcesses(name: string, podUid: string): void {
    this.#machineOf(name).runtime.killProcesses(podUid);
  }

  /** It starts again, with what is on its disk. */
  powerOn(name: string): void {
    this.network.rejoin(name);
    this.#machineOf(name).boots += 1;
    this.#startKubelet(name);
  }

  /** Kills or permanently stops only the kubelet; the machine and its containers continue. */
  killKubelet(name: string): void {
    const { process, connection } = this.#machineOf(name);
    process.crash();
    this.background(connection.close());
  }

  /** The kubelet alone is killed and starts again. */
  restartKubelet(name: string): void {
    this.killKubelet(name);
    this.#startKubelet(name);
  }

  #startKubelet(name: string): void {
    const node = this.#machineOf(name);
    const machine = node.process.boot(this.#options.logOf?.(name));
    node.connection = this.disks.below(node.runtime.connect(), machine);
    this.background(this.#kubeletOn(machine, node.connection, identityOf(name, node.boots), node.bound).start());
    this.#options.onRestart?.(name);
  }

  /** Resolves with a response while virtual time continues. */
  async ask<T>(request: Promise<T>): Promise<T> {
    const settled = request.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    let outcome: Awaited<typeof settled> | undefined;
    void settled.then((result) => (outcome = result));
    await this.kernel.runUntil('an answer', () => outcome !== undefined, ANSWER_DEADLINE_MS);
    const result = await settled;
    if ('error' in result) throw result.error;
    return result.value;
  }

  /** Work beside the run; its failure ends the run. */
  background(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.kernel.fail(error));
  }

  #boot(party: string): SimulatedMachine {
    return new SimulatedProcess(this.kernel, party).boot(this.#options.logOf?.(party));
  }

  async #adopt(copy: Store): Promise<Store> {
    const { objects, revision } = await copy.list('');
    const { incarnation, epoch } = copy.lineage();
    const { ids } = this.#boot('adopted-store');
    const adopted = { objects, revision: revision + ADOPTION_JUMP };
    return createMemoryStore({ ids, lineage: { incarnation, epoch: epoch + 1 }, adopted });
  }

  #createApis(): ApiServers {
    const {
      storeOf,
      logOf,
      onWrite,
      onAnswer,
      defaultTolerationSeconds,
      ownershipRule = 'enforced',
      data,
      events,
    } = this.#options;
    this.committed.replace(data?.objects ?? []);
    const onCommit = (commit: Commit): void => {
      this.committed.apply(commit);
      this.#options.observeCommit?.(commit);
    };
    const { kernel, network, apiParties: parties } = this;
    const tokens = tokensOf(this.nodeNames);
    const hasSystemObjects = data !== undefined;
    const { expired, busy, forgetful } = this;
    const faults = { storeOf, onWrite, onAnswer, events, expired, busy, forgetful };
    const settings = { ownershipRule, defaultTolerationSeconds, logOf, hasSystemObjects, ...faults };
    const store = createMemoryStore(data === undefined ? {} : { adopted: data });
    return new ApiServers({ kernel, network, parties, hub: this.#hub, tokens, onCommit, ...settings }, store);
  }

  #addPart(party: string, create: (machine: SimulatedMachine) => Service): void {
    this.network.join(party);
    this.#parts.set(party, { process: new SimulatedProcess(this.kernel, party), create });
  }

  #bootPart(party: string): Service {
    const part = this.#parts.get(party);
    invariant(part !== undefined, 'the process is one of the control plane', { party });
    return part.create(part.process.boot(this.#options.logOf?.(party)));
  }

  readonly #createScheduler = (machine: SimulatedMachine): Service =>
    createScheduler({
      ...machine,
      bus: this.#busFor(machine),
      client: this.#clientFor(machine, SCHEDULER_USER),
      leaderElection: this.#hasLeases(this.#options.replicas?.schedulers),
    });

  readonly #createControllerManager = (machine: SimulatedMachine): Service => {
    const { podEviction, nodeMonitorGraceSeconds, replicas, terminatedPodThreshold } = this.#options;
    return createControllerManager({
      ...machine,
      ...this.#checks(),
      bus: this.#busFor(machine),
      clients: {
        manager: this.#clientFor(machine, CONTROLLER_MANAGER_USER),
        podGc: this.#clientFor(machine, POD_GC_USER),
      },
      settings: {
        leaderElection: this.#hasLeases(replicas?.managers),
        ...(nodeMonitorGraceSeconds === undefined ? {} : { nodeMonitorGraceSeconds }),
        ...(terminatedPodThreshold === undefined ? {} : { terminatedPodThreshold }),
      },
      ...(podEviction === undefined ? {} : { podEviction }),
    });
  };

  #createNode(name: string): Service {
    const process = new SimulatedProcess(this.kernel, name);
    const machine = process.boot(this.#options.logOf?.(name));
    const kept = this.#options.data?.machines?.get(name);
    const below = this.#machineBelow(name);
    const runtime = this.#runtimeOn(below, name, kept?.runtime);
    const connection = this.disks.below(runtime.connect(), machine);
    const bound = createBound(kept?.bound);
    this.#nodes.set(name, { process, machine: below, runtime, bound, connection, boots: 1 });
    return this.#kubeletOn(machine, this.#options.runtimeOf?.(connection) ?? connection, identityOf(name, 1), bound);
  }

  /** The machine below the kubelet has its own clock: containers continue whatever happens to the kubelet. */
  #machineBelow(name: string): SimulatedProcess {
    return new SimulatedProcess(this.kernel, `${name}/machine`);
  }

  #runtimeOn(process: SimulatedProcess, machineName: string, state?: HollowState): HollowRuntime {
    const observe = (fact: ProcessFact): void => this.#observe(fact);
    const { guard } = this.#options.selfFencing ?? {};
    const machine = { ...process.boot(this.#options.logOf?.(process.name)), nodeName: machineName, observe, state };
    return createHollowRuntime({ ...machine, ...(guard === undefined ? {} : { guard }) });
  }

  #observe(fact: ProcessFact): void {
    this.oracle.observe(fact);
    this.committed.touch();
    this.#options.observe?.(fact);
  }

  /** The oracles learn of the processes that ran before. */
  #tellRunning(node: string, { sandboxes, containers }: HollowState): void {
    for (const { sandbox: id, status } of containers) {
      const config = sandboxes.find((each) => each.id === id)?.config;
      if (config === undefined || status.state !== 'running') continue;
      const { podNamespace: namespace, podName, podUid } = config;
      this.#observe({ kind: 'started', node, namespace, podName, podUid, container: status.config.name });
    }
  }

  #kubeletOn(
    machine: SimulatedMachine,
    runtime: ContainerRuntime,
    identity: SimIdentity,
    bound: BoundIncarnation,
  ): Service {
    const { name, incarnation } = identity;
    return createKubelet({
      ...machine,
      bus: this.#busFor(machine),
      client: this.#clientFor(machine, nodeUser(name), this.#saysWhoItIs ? incarnation : undefined),
      runtime,
      node: {
        ...hollowNodeFacts({
          name,
          address: `198.18.0.${this.nodeNames.indexOf(name) + 1}`,
          labels: this.#options.labelsOf?.(name) ?? {},
        }),
        ...(this.#saysWhoItIs ? { incarnation } : {}),
      },
      network: HOLLOW_PROBE_NETWORK,
      bound,
      selfFencing: this.#options.selfFencing?.policy,
    });
  }

  #machineOf(name: string): SimNode {
    const found = this.#nodes.get(name);
    invariant(found !== undefined, 'the node is one of the cluster', { name });
    return found;
  }

  #checks(): Pick<SimClusterOptions, 'safetyCheckIntervalMs'> {
    const { safetyCheckIntervalMs } = this.#options;
    return safetyCheckIntervalMs === undefined ? {} : { safetyCheckIntervalMs };
  }

  #hasLeases(replicas = 1): boolean {
    return replicas > 1 && this.#options.leases !== 'off';
  }

  get #saysWhoItIs(): boolean {
    return this.#options.nodeIncarnations !== 'off';
  }

  #clientFor(machine: SimulatedMachine, user: string, incarnation?: string): ApiClient {
    const transport = this.#apis.transportFor(machine);
    return createApiClient({ transport, token: user, userAgent: user, incarnation });
  }

  #busFor(machine: SimulatedMachine): Bus {
    this.network.setQuality(BUS_PARTY, machine.name, this.#options.busQuality ?? {});
    return createSimulatedBus({
      network: this.network,
      party: machine.name,
      hub: this.#hub,
      alive: machine.alive,
      onError: (error) => this.kernel.fail(error),
      wayOf: this.channels.wayOf(machine.name),
    });
  }
}
