import type { Clock } from '@holdfast/platform';
import type { LogLimits } from '../log-limits.ts';
import {
  type ContainerConfig,
  type ContainerStatus,
  type ExecResult,
  type ExecStreamRequest,
  RuntimeError,
  type SandboxConfig,
  type SandboxStatus,
} from '../port.ts';
import { ContainerEnds } from './container-ends.ts';
import { type BesideRequest, execIn } from './exec.ts';
import { type OpenExec, openExec } from './exec-streams.ts';
import { ADOPTED_POLL_MS } from './limits.ts';
import {
  type LiveContainer,
  liveContainer,
  mayHaveProcesses,
  type Owner,
  type RunningContainer,
  type Spawned,
} from './live-container.ts';
import { createLogKeeper } from './log-keeper.ts';
import { createLogTimes, type LogTimes } from './log-times.ts';
import { findAlive, type ProcessIdentity, readProcess } from './process-table.ts';
import type { ProcessWatch } from './process-watch.ts';
import { RecordKeeper } from './record-keeper.ts';
import type { ContainerExit, ContainerRecord, SandboxRecord, StateFiles } from './records.ts';
import { type SpawnOutcome, spawnContainer } from './spawn.ts';
import { childrenOf } from './terminal.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly files: StateFiles;
  readonly processes: ProcessWatch;
  readonly bootId: string;
  readonly newId: () => string;
  /** Read again at every look: a later kubelet may have others. */
  readonly logLimits: () => LogLimits;
  readonly onChange: (podUid: string) => void;
}

/** Owns the processes of one node. One instance per state directory, guarded by the socket it listens on. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #sandboxes = new Map<string, SandboxRecord>();
  readonly #containers = new Map<string, LiveContainer>();
  readonly #logTimes: LogTimes;
  readonly #records: RecordKeeper;
  readonly #ends: ContainerEnds;
  #sequence = 0;
  #closing = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#logTimes = createLogTimes(deps.clock);
    this.#records = new RecordKeeper(deps.clock);
    this.#ends = new ContainerEnds({ ...deps, onExited: (container, exit) => this.#exited(container, exit) });
  }

  /** Takes over what an earlier supervisor recorded, and what it spawned but had no time to record. */
  async adopt(): Promise<void> {
    const { sandboxes, containers } = this.#deps.files.load();
    for (const record of sandboxes) this.#sandboxes.set(record.id, record);
    for (const record of containers) {
      this.#containers.set(record.id, liveContainer(record));
      this.#sequence = Math.max(this.#sequence, record.sequence);
    }
    for (const container of this.#containers.values()) {
      if (container.record.state === 'exited') continue;
      const recorded = container.record.process;
      const leaderWasSeen = recorded !== undefined && findAlive(recorded, this.#deps.bootId) !== undefined;
      const members = await this.#deps.processes.members(container.record, { leaderWasSeen });
      const leader = members.find((entry) => entry.session === entry.pid) ?? members[0];
      if (leader === undefined) this.#adoptDead(container);
      else this.#adoptRunning(container, { ...leader, bootId: this.#deps.bootId });
    }
    createLogKeeper(this.#deps.clock, () => this.#runningLogs(), this.#deps.logLimits);
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  isEmpty(): boolean {
    return this.#sandboxes.size === 0;
  }

  runSandbox(config: SandboxConfig, ip: string): string {
    this.#assertOpen();
    for (const record of this.#sandboxes.values()) {
      if (record.config.podUid === config.podUid && record.config.attempt === config.attempt) return record.id;
    }
    const record: SandboxRecord = {
      id: this.#deps.newId(),
      config,
      state: 'ready',
      createdAt: this.#deps.clock.now(),
      ip,
    };
    this.#records.begin(() => this.#deps.files.saveSandbox(record));
    this.#sandboxes.set(record.id, record);
    this.#deps.onChange(config.podUid);
    return record.id;
  }

  async stopSandbox(id: string, graceMs: number, owner: Owner): Promise<void> {
    const record = this.#sandboxes.get(id);
    if (record === undefined) return;
    await Promise.all(
      this.#containersOf(id).map((container) => this.stopContainer(container.record.id, graceMs, owner)),
    );
    const latest = this.#sandboxes.get(id);
    if (latest !== undefined && latest.state !== 'notReady') this.#saveSandbox({ ...latest, state: 'notReady' });
  }

  removeSandbox(id: string): void {
    const record = this.#sandboxes.get(id);
    if (record === undefined) return;
    const containers = this.#containersOf(id);
    const running = containers.find(mayHaveProcesses);
    if (running !== undefined)
      throw new RuntimeError('IllegalState', `container ${running.record.config.name} of sandbox ${id} still runs`);
    const { podUid } = record.config;
    const isLast = ![...this.#sandboxes.values()].some((other) => other !== record && other.config.podUid === podUid);
    this.#deps.files.removeSandbox(record, isLast);
    for (const gone of [id, ...containers.map((container) => container.record.id)]) this.#records.forget(gone);
    for (const container of containers) this.#containers.delete(container.record.id);
    this.#sandboxes.delete(id);
    this.#deps.onChange(record.config.podUid);
  }

  createContainer(sandboxId: string, config: ContainerConfig): string {
    this.#assertOpen();
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox === undefined) throw new RuntimeError('NotFound', `sandbox ${sandboxId} does not exist`);
    if (sandbox.state !== 'ready') throw new RuntimeError('IllegalState', `sandbox ${sandboxId} is stopped`);
    const same = this.#containersOf(sandboxId).find(
      ({ record }) => record.config.name === config.name && record.config.restartCount === config.restartCount,
    );
    if (same !== undefined) return same.record.id;
    this.#sequence += 1;
    const record: ContainerRecord = {
      id: this.#deps.newId(),
      sandbox: sandboxId,
      sequence: this.#sequence,
      config,
      state: 'created',
      createdAt: this.#deps.clock.now(),
    };
    this.#records.begin(() => this.#deps.files.saveContainer(record));
    this.#containers.set(record.id, liveContainer(record));
    this.#changed(sandboxId);
    return record.id;
  }

  async startContainer(id: string): Promise<void> {
    this.#assertOpen();
    const container = this.#require(id);
    if (container.record.state !== 'created') return;
    const sandbox = this.#sandboxes.get(container.record.sandbox);
    if (sandbox?.state !== 'ready') {
      throw new RuntimeError('IllegalState', `sandbox ${container.record.sandbox} is stopped`);
    }
    container.spawning ??= this.#spawn(container, sandbox.config);
    const spawned = await container.spawning;
    if (spawned !== undefined && (await spawned.setUp) !== '') await spawned.ended;
  }

  /** Settles when the container's state says whether it has a process. */
  async #spawn(container: LiveContainer, sandbox: SandboxConfig): Promise<Spawned | undefined> {
    const { record } = container;
    try {
      const outcome = await spawnContainer({
        containerId: record.id,
        config: record.config,
        sandbox,
        workPath: this.#deps.files.workPath(record),
        rootPath: this.#deps.files.rootPath(record),
        logPath: this.#deps.files.logPath(record),
      });
      if ('failure' in outcome) {
        this.#exited(container, { ...this.#ends.exitNow(128, 'StartError'), message: outcome.failure });
        return undefined;
      }
      return this.#nowRunning(container, outcome);
    } finally {
      container.spawning = undefined;
    }
  }

  #nowRunning(container: LiveContainer, { child, setUp }: Exclude<SpawnOutcome, { failure: string }>): Spawned {
    const pid = child.pid ?? 0;
    container.stdin = child.stdin ?? undefined;
    // It need not read what it is given.
    child.stdin?.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        void this.#ends.leaderEnded(container, { code, signal, setUp }).then(resolve);
      });
    });
    const startTicks = readProcess(pid)?.startTicks ?? '';
    this.#logTimes.follow(this.#deps.files.logPath(container.record));
    this.#update(container, {
      state: 'running',
      startedAt: this.#deps.clock.now(),
      process: { pid, startTicks, bootId: this.#deps.bootId },
    });
    return { setUp, ended };
  }

  stopContainer(id: string, graceMs: number, owner: Owner): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return Promise.resolve();
    if (container.spawning !== undefined) {
      // Its process may be there at any moment: an end can be confirmed only once the start is settled.
      const again = (): Promise<void> => this.stopContainer(id, graceMs, owner);
      return container.spawning.then(again, again);
    }
    if (container.record.state === 'created') {
      this.#exited(container, { ...this.#ends.exitNow(137, 'Error'), message: 'stopped before it was started' });
      return Promise.resolve();
    }
    if (container.record.state === 'exited') return Promise.resolve();
    const gone = new Promise<void>((resolve, reject) => container.waiters.add({ resolve, reject, owner }));
    const killAt = this.#deps.clock.monotonic() + graceMs;
    const earlier = container.stop;
    if (earlier === undefined || earlier.owner !== owner || earlier.killAt > killAt) {
      earlier?.cancel();
      container.stop = { owner, killAt, ...this.#ends.killAfter(container, graceMs) };
      if (earlier?.owner !== owner) this.#ends.signalLeader(container);
    }
    return gone;
  }

  removeContainer(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    if (mayHaveProcesses(container))
      throw new RuntimeError('IllegalState', `container ${container.record.config.name} still runs`);
    this.#containers.delete(id);
    this.#records.forget(id);
    this.#deps.files.removeContainer(container.record);
    this.#changed(container.record.sandbox);
  }

  exec(id: string, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    return execIn(this.#deps.clock, { ...this.#beside(id, command), timeoutMs });
  }

  openExec(id: string, { command, ...options }: ExecStreamRequest): OpenExec {
    return openExec(this.#deps.clock, this.#beside(id, command), options);
  }

  #beside(id: string, command: readonly string[]): BesideRequest {
    const { record, ending } = this.#require(id);
    const sandbox = this.#sandboxes.get(record.sandbox);
    // Whoever starts while the others are being killed might be missed.
    if (record.state !== 'running' || ending || sandbox === undefined)
      throw new RuntimeError('IllegalState', `container ${record.config.name} does not run`);
    return {
      containerId: id,
      config: { ...record.config, command, args: [] },
      sandbox: sandbox.config,
      workPath: this.#deps.files.workPath(record),
      leader: innerLeader(record),
    };
  }

  /** What somebody attaches to. */
  running(id: string): RunningContainer {
    const { record, stdin } = this.#require(id);
    if (record.state !== 'running')
      throw new RuntimeError('IllegalState', `container ${record.config.name} does not run`);
    return {
      config: record.config,
      pid: record.process?.pid ?? 0,
      logPath: this.#deps.files.logPath(record),
      stdin,
      isOver: () => this.#containers.get(id)?.record.state !== 'running',
    };
  }

  list(podUid?: string): readonly SandboxStatus[] {
    return [...this.#sandboxes.values()]
      .filter((record) => podUid === undefined || record.config.podUid === podUid)
      .map((record) => ({
        ...record,
        volumesPath: this.#deps.files.volumesPath(record.config.podUid),
        containers: this.#containersOf(record.id).map((container) => this.#status(container.record)),
      }));
  }

  /** The owner is gone: what it began to stop goes on without a kill, and nobody waits any more. */
  release(owner: Owner): void {
    for (const container of this.#containers.values()) {
      if (container.stop?.owner === owner) {
        container.stop.cancel();
        container.stop = undefined;
      }
      for (const waiter of container.waiters) if (waiter.owner === owner) container.waiters.delete(waiter);
    }
  }

  /** Refuses new work and resolves when every process of every container is gone. */
  async shutDown(graceMs: number, owner: Owner): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#containers.keys()].map((id) => this.stopContainer(id, graceMs, owner)));
  }

  #adoptRunning(container: LiveContainer, leader: ProcessIdentity): void {
    const { pid, startTicks, bootId } = leader;
    this.#logTimes.follow(this.#deps.files.logPath(container.record));
    this.#update(container, {
      state: 'running',
      startedAt: container.record.startedAt ?? this.#deps.clock.now(),
      process: { pid, startTicks, bootId },
    });
    const poll = (): void => {
      if (findAlive(leader, this.#deps.bootId) === undefined)
        void this.#ends.endRest(container, this.#ends.unknownExit());
      else this.#deps.clock.timer(ADOPTED_POLL_MS, poll);
    };
    this.#deps.clock.timer(ADOPTED_POLL_MS, poll);
  }

  /** `created` without a process stays startable: it never ran. */
  #adoptDead(container: LiveContainer): void {
    if (container.record.state === 'running') this.#exited(container, this.#ends.unknownExit());
  }

  #exited(container: LiveContainer, exit: ContainerExit): void {
    container.stop?.cancel();
    container.stop = undefined;
    this.#logTimes.finish(this.#deps.files.logPath(container.record));
    this.#update(container, { state: 'exited', exit });
    for (const waiter of container.waiters) waiter.resolve();
    container.waiters.clear();
  }

  #update(container: LiveContainer, change: Partial<ContainerRecord>): void {
    container.record = { ...container.record, ...change };
    this.#save(container.record);
  }

  #save(record: ContainerRecord): void {
    // Removed while it ended: writing would bring the record back.
    if (!this.#containers.has(record.id)) return;
    this.#records.keep(record.id, () => this.#deps.files.saveContainer(record));
    this.#changed(record.sandbox);
  }

  #saveSandbox(record: SandboxRecord): void {
    this.#sandboxes.set(record.id, record);
    this.#records.keep(record.id, () => this.#deps.files.saveSandbox(record));
    this.#deps.onChange(record.config.podUid);
  }

  #changed(sandboxId: string): void {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox !== undefined) this.#deps.onChange(sandbox.config.podUid);
  }

  #containersOf(sandboxId: string): LiveContainer[] {
    return [...this.#containers.values()].filter((container) => container.record.sandbox === sandboxId);
  }

  #runningLogs(): string[] {
    return [...this.#containers.values()]
      .filter((container) => container.record.state === 'running')
      .map((container) => this.#deps.files.logPath(container.record));
  }

  #status(record: ContainerRecord): ContainerStatus {
    const { name, image, restartCount } = record.config;
    return {
      id: record.id,
      config: { name, image, restartCount },
      state: record.state,
      createdAt: record.createdAt,
      ...(record.startedAt === undefined ? {} : { startedAt: record.startedAt }),
      ...record.exit,
      logPath: this.#deps.files.logPath(record),
    };
  }

  #require(id: string): LiveContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError('NotFound', `container ${id} does not exist`);
    return container;
  }

  #assertOpen(): void {
    if (this.#closing) throw new RuntimeError('Unavailable', 'the supervisor is shutting down');
  }
}

/** The process whose namespaces are the container's: with a terminal, the one that runs on it. */
function innerLeader({ config, process: leader }: ContainerRecord): number {
  const pid = leader?.pid ?? 0;
  return config.tty === true ? (childrenOf(pid)[0] ?? pid) : pid;
}
