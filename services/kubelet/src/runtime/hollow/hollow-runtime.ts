import type { PassThrough } from 'node:stream';
import { HOLLOW_RUNTIME } from '@holdfast/api';
import { type Clock, createIds, type Ids, type Random, type Timer } from '@holdfast/platform';
import { type FencingDeadline, isCoveredBy, isPast, mayStart } from '../fencing-deadline.ts';
import {
  type ContainerConfig,
  type ContainerRuntime,
  type ContainerStatus,
  type ExecResult,
  RuntimeError,
  type SandboxConfig,
  type SandboxStatus,
} from '../port.ts';
import type { ExclusiveGuard } from '../port-guard.ts';
import { POD_SCRIPT_FORMS, readPodScript } from './pod-script.ts';
import { type HollowScript, readScript } from './script.ts';
import { createHollowStreams, type HollowStreamMachine, type WatchedContainer } from './streams.ts';

export interface HollowRuntimeOptions {
  /** The machine's clock: it continues while the kubelet is down. */
  readonly clock: Clock;
  readonly random: Random;
  readonly nodeName?: string;
  /** Called when a simulated process starts and ends: the truth of this machine, whatever the API says. */
  readonly observe?: (fact: HollowProcessFact) => void;
  /** Time from the start request to the running process, drawn evenly. */
  /** A planted bug: the guard keeps no deadline. */
  readonly guard?: 'broken';
  readonly startDelayMs?: { readonly min: number; readonly max: number };
  /** The machine continues from this state of another one. */
  readonly state?: HollowState | undefined;
}

/**
 * Everything that a simulated machine holds, as plain data. Its containers have run for as long as their times say. A
 * stop that was under way is not part of it: the kubelet asks for it again.
 */
export interface HollowState {
  readonly sandboxes: readonly HollowSandbox[];
  readonly containers: readonly HollowContainerState[];
  readonly addresses: number;
}

export interface HollowContainerState {
  readonly sandbox: string;
  readonly config: ContainerConfig;
  readonly status: ContainerStatus;
}

export interface HollowProcessFact {
  readonly kind: 'started' | 'ended';
  readonly node: string;
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
  readonly container: string;
  readonly at: number;
}

export interface HollowRuntime extends ContainerRuntime {
  /**
   * Another client of the same machine, for the next kubelet. First `close` the previous one, as the end of its process
   * would.
   */
  connect(): ContainerRuntime;
  /** Every process ends immediately, as in a power cut. Records stay. */
  powerOff(): void;
  /** Its records are gone, as from a disk that was replaced. Only after `powerOff`. */
  loseContainers(): void;
  /** Every process of a pod ends by itself, as one that has no memory left. */
  killProcesses(podUid: string): void;
  /** Its present state, from which another machine can continue. */
  state(): HollowState;
}

interface ExecLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

interface HollowContainer {
  readonly sandbox: string;
  readonly script: HollowScript;
  readonly config: ContainerConfig;
  /** Open streams, which are notified of its end. */
  readonly watchers: Set<() => void>;
  readonly readers: Set<PassThrough>;
  status: ContainerStatus;
  /** Cancelled when it ends. */
  readonly timers: Set<Timer>;
  stop: { readonly owner: object; readonly killAt: number; readonly kill: Timer } | undefined;
  readonly waiters: Set<{ readonly owner: object; readonly resolve: () => void }>;
}

export type HollowSandbox = Omit<SandboxStatus, 'containers'>;

const VERSION = `${HOLLOW_RUNTIME}://0.1.0`;
const SIGTERM = 15;
const SIGKILL = 9;
const DEFAULT_START_DELAY_MS = { min: 1, max: 20 };

/** A machine without processes: containers are records and timers on the injected clock. */
export function createHollowRuntime(options: HollowRuntimeOptions): HollowRuntime {
  const machine = new HollowMachine(options);
  return {
    ...createHollowClient(machine),
    connect: () => createHollowClient(machine),
    powerOff: () => machine.powerOff(),
    loseContainers: () => machine.loseContainers(),
    killProcesses: (podUid) => machine.killProcesses(podUid),
    state: () => machine.state(),
  };
}

function createHollowClient(machine: HollowMachine): ContainerRuntime {
  const abandoned = new Set<(error: RuntimeError) => void>();
  const subscriptions = new Set<() => void>();
  const owner = {};
  let closed = false;
  const call = <T>(work: () => T | Promise<T>): Promise<T> => {
    const gone = (): RuntimeError => new RuntimeError('Unavailable', 'the runtime client is closed');
    if (closed) return Promise.reject(gone());
    return new Promise<T>((resolve, reject) => {
      abandoned.add(reject);
      const settle = (): boolean => abandoned.delete(reject);
      Promise.resolve()
        .then(() => (closed ? Promise.reject(gone()) : work()))
        .then(resolve, reject)
        .finally(settle);
    });
  };
  return {
    streams: createHollowStreams(machine),
    guard: machine.guard,
    version: () => Promise.resolve(VERSION),
    runSandbox: (config) => call(() => machine.runSandbox(config)),
    stopSandbox: (id, graceMs) => call(() => machine.stopSandbox(id, graceMs, owner)),
    removeSandbox: (id) => call(() => machine.removeSandbox(id)),
    createContainer: (sandbox, config) => call(() => machine.createContainer(sandbox, config)),
    startContainer: (id, startBeforeMs) => call(() => machine.startContainer(id, startBeforeMs)),
    stopContainer: (id, graceMs) => call(() => machine.stopContainer(id, graceMs, owner)),
    removeContainer: (id) => call(() => machine.removeContainer(id)),
    exec: (id, command, timeoutMs, signal) => call(() => machine.exec(id, command, { timeoutMs, signal })),
    list: (filter) => call(() => machine.list(filter?.podUid)),
    onChange: (listener) => {
      const unsubscribe = machine.subscribe(listener);
      subscriptions.add(unsubscribe);
      return () => {
        subscriptions.delete(unsubscribe);
        unsubscribe();
      };
    },
    close: () => {
      closed = true;
      machine.release(owner);
      for (const unsubscribe of subscriptions) unsubscribe();
      for (const reject of abandoned) reject(new RuntimeError('Unavailable', 'the runtime client is closed'));
      abandoned.clear();
      return Promise.resolve();
    },
  };
}

const newContainer = ({ sandbox, config, status }: HollowContainerState): HollowContainer => ({
  sandbox,
  script: scriptOf(config),
  config,
  watchers: new Set(),
  readers: new Set(),
  status,
  timers: new Set(),
  stop: undefined,
  waiters: new Set(),
});

function scriptOf({ script, command, args }: ContainerConfig): HollowScript {
  if (script === undefined) return readScript(command, args);
  const read = readPodScript(script);
  if (read !== undefined) return read;
  const forms = POD_SCRIPT_FORMS.map((form) => `"${form}"`).join(', ');
  throw new RuntimeError('Unsupported', `${JSON.stringify(script)} is not a script: use ${forms}, separated by commas`);
}

class HollowMachine implements HollowStreamMachine {
  readonly #options: HollowRuntimeOptions;
  readonly #ids: Ids;
  readonly #sandboxes = new Map<string, HollowSandbox>();
  readonly #containers = new Map<string, HollowContainer>();
  readonly #listeners = new Set<(podUid: string) => void>();
  #deadline: FencingDeadline | undefined;
  #fence: Timer | undefined;
  #addresses: number;

  constructor(options: HollowRuntimeOptions) {
    this.#options = options;
    this.#ids = createIds(options.random);
    const { state } = options;
    this.#addresses = state?.addresses ?? options.random.int(0x1_0000) * 0x100;
    for (const sandbox of state?.sandboxes ?? []) this.#sandboxes.set(sandbox.id, sandbox);
    for (const container of state?.containers ?? []) this.#continue(container);
  }

  state(): HollowState {
    return {
      sandboxes: [...this.#sandboxes.values()],
      containers: [...this.#containers.values()].map(({ sandbox, config, status }) => ({ sandbox, config, status })),
      addresses: this.#addresses,
    };
  }

  #continue({ sandbox, config, status }: HollowContainerState): void {
    const container = newContainer({ sandbox, config, status });
    this.#containers.set(status.id, container);
    if (status.state === 'running') this.#play(container);
  }

  runSandbox(config: SandboxConfig): string {
    for (const sandbox of this.#sandboxes.values()) {
      if (sandbox.config.podUid === config.podUid && sandbox.config.attempt === config.attempt) return sandbox.id;
    }
    const id = this.#ids.uuid();
    const createdAt = this.#options.clock.now();
    this.#sandboxes.set(id, { id, config, state: 'ready', createdAt, ip: this.#nextAddress() });
    this.#changed(config.podUid);
    return id;
  }

  async stopSandbox(id: string, graceMs: number, owner: object): Promise<void> {
    await Promise.all(this.#containersOf(id).map((each) => this.stopContainer(each.status.id, graceMs, owner)));
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined || sandbox.state === 'notReady') return;
    this.#sandboxes.set(id, { ...sandbox, state: 'notReady' });
    this.#changed(sandbox.config.podUid);
  }

  removeSandbox(id: string): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return;
    const running = this.#containersOf(id).find((each) => each.status.state === 'running');
    if (running !== undefined)
      throw new RuntimeError('IllegalState', `container ${running.status.config.name} of sandbox ${id} still runs`);
    for (const each of this.#containersOf(id)) this.#containers.delete(each.status.id);
    this.#sandboxes.delete(id);
    this.#changed(sandbox.config.podUid);
  }

  createContainer(sandboxId: string, config: ContainerConfig): string {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox === undefined) throw new RuntimeError('NotFound', `sandbox ${sandboxId} does not exist`);
    if (sandbox.state !== 'ready') throw new RuntimeError('IllegalState', `sandbox ${sandboxId} is stopped`);
    const { name, image, restartCount } = config;
    const same = this.#containersOf(sandboxId).find(
      ({ status }) => status.config.name === name && status.config.restartCount === restartCount,
    );
    if (same !== undefined) return same.status.id;
    const id = this.#ids.uuid();
    const createdAt = this.#options.clock.now();
    const status: ContainerStatus = { id, config: { name, image, restartCount }, state: 'created', createdAt };
    this.#containers.set(id, newContainer({ sandbox: sandboxId, config, status }));
    this.#changed(sandbox.config.podUid);
    return id;
  }

  async startContainer(id: string, startBeforeMs: number | undefined): Promise<void> {
    const container = this.#require(id);
    if (container.status.state !== 'created') return;
    this.#assertMayStart(container, startBeforeMs);
    const delay = this.#options.startDelayMs ?? DEFAULT_START_DELAY_MS;
    await this.#options.clock.sleep(delay.min + this.#options.random.float() * (delay.max - delay.min));
    // Stopped, removed or started by another call meanwhile.
    if (container.status.state !== 'created' || !this.#containers.has(id)) return;
    this.#assertMayStart(container, startBeforeMs);
    const unready = container.script.readyAfterMs === undefined ? {} : ({ unready: true } as const);
    container.status = { ...container.status, state: 'running', startedAt: this.#options.clock.now(), ...unready };
    this.#tell(container, 'started');
    this.#play(container);
  }

  /** What is left of the script of a running container. */
  #play(container: HollowContainer): void {
    const { exitAfterMs, exitCode, readyAfterMs = Infinity } = container.script;
    const nowMs = this.#options.clock.now();
    const sinceMs = nowMs - (container.status.startedAt ?? nowMs);
    const after = (ms: number, fire: () => void): void => this.#after(container, Math.max(0, ms - sinceMs), fire);
    if (container.status.unready === true && readyAfterMs !== Infinity)
      after(readyAfterMs, () => this.#ready(container));
    if (exitAfterMs !== undefined) after(exitAfterMs, () => this.#end(container, exitCode));
  }

  #ready(container: HollowContainer): void {
    const { unready: _, ...status } = container.status;
    container.status = status;
    this.#changedSandbox(container.sandbox);
  }

  stopContainer(id: string, graceMs: number, owner: object): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined || container.status.state === 'exited') return Promise.resolve();
    if (container.status.state === 'created') {
      this.#end(container, 128 + SIGKILL);
      return Promise.resolve();
    }
    const gone = new Promise<void>((resolve) => container.waiters.add({ owner, resolve }));
    const killAt = this.#options.clock.monotonic() + graceMs;
    const earlier = container.stop;
    if (earlier === undefined || earlier.owner !== owner || earlier.killAt > killAt) {
      earlier?.kill.cancel();
      const kill = this.#options.clock.timer(graceMs, () => this.#endBySignal(container, SIGKILL));
      container.stop = { owner, killAt, kill };
      if (earlier?.owner !== owner) this.#signalStop(container);
    }
    return gone;
  }

  removeContainer(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    if (container.status.state === 'running')
      throw new RuntimeError('IllegalState', `container ${container.status.config.name} still runs`);
    this.#containers.delete(id);
    this.#changedSandbox(container.sandbox);
  }

  async exec(id: string, command: readonly string[], { timeoutMs, signal }: ExecLimits): Promise<ExecResult> {
    if (this.#require(id).status.state !== 'running')
      throw new RuntimeError('IllegalState', `container ${id} does not run`);
    const { exitAfterMs = 0, exitCode } = readScript(command, []);
    await this.#options.clock.sleep(Math.min(exitAfterMs, timeoutMs), signal);
    if (exitAfterMs > timeoutMs) throw new RuntimeError('Timeout', `command "${command.join(' ')}" timed out`);
    return { exitCode, output: '' };
  }

  list(podUid: string | undefined): readonly SandboxStatus[] {
    return [...this.#sandboxes.values()]
      .filter((sandbox) => podUid === undefined || sandbox.config.podUid === podUid)
      .map((sandbox) => ({ ...sandbox, containers: this.#containersOf(sandbox.id).map(({ status }) => status) }));
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  watch(id: string, onEnd: () => void): WatchedContainer {
    const container = this.#require(id);
    const { config, status, watchers, readers } = container;
    if (status.state !== 'running') throw new RuntimeError('IllegalState', `container ${config.name} does not run`);
    watchers.add(onEnd);
    const copiesInput = config.command[0] === 'cat' && config.stdin === true;
    return {
      copiesInput,
      readers,
      leave: () => watchers.delete(onEnd),
      inputLeft: () => {
        if (copiesInput && config.stdinOnce === true) this.#end(container, 0);
      },
    };
  }

  assertReady(id: string): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new RuntimeError('NotFound', `sandbox ${id} does not exist`);
    if (sandbox.state !== 'ready') throw new RuntimeError('IllegalState', `sandbox ${id} is stopped`);
  }

  subscribe(listener: (podUid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  release(owner: object): void {
    for (const container of this.#containers.values()) {
      for (const waiter of container.waiters) if (waiter.owner === owner) container.waiters.delete(waiter);
      if (container.stop?.owner !== owner) continue;
      container.stop.kill.cancel();
      container.stop = undefined;
    }
  }

  /** It continues while the kubelet is down: the guard belongs to the machine. */
  readonly guard: ExclusiveGuard = {
    now: () => this.#options.clock.monotonic(),
    deadline: () => this.#deadline?.untilMs,
    policy: () => this.#deadline?.policy,
    ready: () => Promise.resolve(),
    extend: (untilMs, policy) => {
      this.#deadline = { untilMs, policy };
      this.#fence?.cancel();
      this.#fence = this.#options.clock.timer(untilMs - this.#options.clock.monotonic(), () => this.#endCovered());
    },
    withdraw: () => {
      this.#deadline = undefined;
      this.#fence?.cancel();
    },
  };

  #endCovered(): void {
    const deadline = this.#deadline;
    if (this.#options.guard === 'broken' || deadline === undefined) return;
    if (!isPast(deadline, this.#options.clock.monotonic())) return;
    for (const container of this.#containers.values()) {
      const fencing = this.#sandboxes.get(container.sandbox)?.config.fencing;
      if (isCoveredBy(deadline.policy, fencing) && container.status.state === 'running')
        this.#endBySignal(container, SIGKILL);
    }
  }

  #assertMayStart(container: HollowContainer, startBeforeMs: number | undefined): void {
    const fencing = this.#sandboxes.get(container.sandbox)?.config.fencing;
    const nowMs = this.#options.clock.monotonic();
    if (this.#options.guard === 'broken' || mayStart(this.#deadline, fencing, { startBeforeMs, nowMs })) return;
    throw new RuntimeError('Fenced', `container ${container.config.name} had to start before the deadline of its node`);
  }

  powerOff(): void {
    for (const container of this.#containers.values()) this.#endBySignal(container, SIGKILL);
    for (const sandbox of this.#sandboxes.values()) this.#sandboxes.set(sandbox.id, { ...sandbox, state: 'notReady' });
  }

  loseContainers(): void {
    this.#containers.clear();
    this.#sandboxes.clear();
  }

  killProcesses(podUid: string): void {
    for (const container of this.#containers.values()) {
      const isOfPod = this.#sandboxes.get(container.sandbox)?.config.podUid === podUid;
      if (isOfPod && container.status.state === 'running') this.#endBySignal(container, SIGKILL);
    }
  }

  #signalStop(container: HollowContainer): void {
    const { ignoresStop, stopAfterMs, stopCode } = container.script;
    if (ignoresStop) return;
    const endsBySignal = stopAfterMs === undefined && stopCode === undefined;
    if (endsBySignal) this.#after(container, 0, () => this.#endBySignal(container, SIGTERM));
    else this.#after(container, stopAfterMs ?? 0, () => this.#end(container, stopCode ?? 0));
  }

  #after(container: HollowContainer, delayMs: number, fire: () => void): void {
    container.timers.add(this.#options.clock.timer(delayMs, fire));
  }

  #endBySignal(container: HollowContainer, signal: number): void {
    this.#end(container, 128 + signal, signal);
  }

  #end(container: HollowContainer, exitCode: number, signal?: number): void {
    const { unready: _, ...before } = container.status;
    if (before.state === 'exited') return;
    for (const timer of container.timers) timer.cancel();
    container.stop?.kill.cancel();
    container.status = {
      ...before,
      state: 'exited',
      finishedAt: this.#options.clock.now(),
      exitCode,
      ...(signal === undefined ? {} : { signal }),
      reason: exitCode === 0 ? 'Completed' : 'Error',
    };
    if (before.state === 'running') this.#tell(container, 'ended');
    else this.#changedSandbox(container.sandbox);
    for (const waiter of container.waiters) waiter.resolve();
    container.waiters.clear();
    for (const watcher of container.watchers) watcher();
  }

  #tell(container: HollowContainer, kind: HollowProcessFact['kind']): void {
    const sandbox = this.#sandboxes.get(container.sandbox);
    if (sandbox === undefined) return;
    const { podNamespace: namespace, podName, podUid } = sandbox.config;
    this.#options.observe?.({
      kind,
      node: this.#options.nodeName ?? '',
      namespace,
      podName,
      podUid,
      container: container.status.config.name,
      at: this.#options.clock.now(),
    });
    this.#changed(podUid);
  }

  #changedSandbox(sandboxId: string): void {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox !== undefined) this.#changed(sandbox.config.podUid);
  }

  #changed(podUid: string): void {
    for (const listener of this.#listeners) listener(podUid);
  }

  #containersOf(sandboxId: string): HollowContainer[] {
    return [...this.#containers.values()].filter((container) => container.sandbox === sandboxId);
  }

  #require(id: string): HollowContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError('NotFound', `container ${id} does not exist`);
    return container;
  }

  #nextAddress(): string {
    this.#addresses = (this.#addresses + 1) & 0xff_ffff;
    return `10.${this.#addresses >> 16}.${(this.#addresses >> 8) & 0xff}.${this.#addresses & 0xff}`;
  }
}
