import type { Clock } from '@holdfast/platform';
import { type FencingDeadline, isCoveredBy, isPast, mayStart } from '../fencing-deadline.ts';
import type { LogLimits } from '../log-limits.ts';
import { type ContainerConfig, RuntimeError, type SandboxConfig, type SandboxStatus } from '../port.ts';
import { ContainerCommands } from './container-commands.ts';
import { ContainerEnds } from './container-ends.ts';
import { ADOPTED_POLL_MS } from './limits.ts';
import { type LiveContainer, mayHaveProcesses, type Owner, type Spawned } from './live-container.ts';
import { createLogKeeper } from './log-keeper.ts';
import { createLogTimes, type LogTimes } from './log-times.ts';
import { lookAtMembers } from './member-looks.ts';
import type { NodeIsolation } from './node-isolation.ts';
import { findAlive, type ProcessIdentity, readProcess } from './process-table.ts';
import type { ProcessWatch } from './process-watch.ts';
import type { ContainerExit, ContainerRecord, SandboxRecord, StateFiles } from './records.ts';
import type { SandboxNetwork } from './sandbox-network.ts';
import { type SpawnOutcome, spawnContainer } from './spawn.ts';
import { SupervisedState } from './supervised-state.ts';
import { tellFault } from './tell-fault.ts';
import type { ViewWork } from './view-workers.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly files: StateFiles;
  readonly processes: ProcessWatch;
  readonly bootId: string;
  readonly newId: () => string;
  /** Read again at every look: a later kubelet may have others. */
  readonly logLimits: () => LogLimits;
  /** The same. */
  readonly isolation: () => NodeIsolation;
  readonly views: ViewWork;
  /** The node's promise, on a clock that includes suspend. */
  readonly fencing: { readonly now: () => number; readonly deadline: () => FencingDeadline | undefined };
  readonly onChange: (podUid: string) => void;
}

/** Owns the stops at the deadline, beside other owners. */
const FENCE: Owner = {};

/** Owns the processes of one node. One instance per state directory, guarded by the socket it listens on. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #state: SupervisedState;
  /** Work beside the processes of containers. */
  readonly commands: ContainerCommands;
  readonly #logTimes: LogTimes;
  readonly #ends: ContainerEnds;
  #closing = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#logTimes = createLogTimes(deps.clock);
    this.#state = new SupervisedState(deps);
    this.commands = new ContainerCommands(deps, this.#state);
    this.#ends = new ContainerEnds({ ...deps, onExited: (container, exit) => this.#exited(container, exit) });
  }

  /** Takes over what an earlier supervisor recorded, and what it spawned but had no time to record. */
  async adopt(): Promise<void> {
    this.#state.load();
    for (const container of this.#state.containers()) {
      if (container.record.state === 'exited') continue;
      const recorded = container.record.process;
      const leaderWasSeen = recorded !== undefined && findAlive(recorded, this.#deps.bootId) !== undefined;
      const members = await this.#deps.processes.members(container.record, { leaderWasSeen });
      // A child with a session of its own may have a lower number.
      const first = leaderWasSeen ? members.find(({ pid }) => pid === recorded.pid) : undefined;
      const leader = first ?? members.find((entry) => entry.session === entry.pid) ?? members[0];
      if (leader === undefined) this.#adoptDead(container);
      else this.#adoptRunning(container, { ...leader, bootId: this.#deps.bootId });
    }
    lookAtMembers(this.#deps.clock, this.#deps.processes, () => this.#state.runningRecords());
    createLogKeeper(this.#deps.clock, () => this.#state.runningLogs(), this.#deps.logLimits);
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  isEmpty(): boolean {
    return this.#state.isEmpty();
  }

  runSandbox(config: SandboxConfig, ip: string, network?: SandboxNetwork): string {
    this.#assertOpen();
    const same = this.#state
      .sandboxes()
      .find((record) => record.config.podUid === config.podUid && record.config.attempt === config.attempt);
    if (same !== undefined) return same.id;
    const record: SandboxRecord = {
      id: this.#deps.newId(),
      config,
      state: 'ready',
      createdAt: this.#deps.clock.now(),
      ip,
      ...(network === undefined ? {} : { network }),
    };
    this.#state.beginSandbox(record);
    return record.id;
  }

  async stopSandbox(id: string, graceMs: number, owner: Owner): Promise<void> {
    const record = this.#state.sandbox(id);
    if (record === undefined) return;
    await Promise.all(
      this.#state.containersOf(id).map((container) => this.stopContainer(container.record.id, graceMs, owner)),
    );
    const latest = this.#state.sandbox(id);
    if (latest !== undefined && latest.state !== 'notReady') this.#state.saveSandbox({ ...latest, state: 'notReady' });
  }

  removeSandbox(id: string): void {
    const record = this.#state.sandbox(id);
    if (record === undefined) return;
    const containers = this.#state.containersOf(id);
    const running = containers.find(mayHaveProcesses);
    if (running !== undefined)
      throw new RuntimeError('IllegalState', `container ${running.record.config.name} of sandbox ${id} still runs`);
    this.#state.removeSandbox(record);
  }

  createContainer(sandboxId: string, config: ContainerConfig): string {
    this.#assertOpen();
    const sandbox = this.#state.sandbox(sandboxId);
    if (sandbox === undefined) throw new RuntimeError('NotFound', `sandbox ${sandboxId} does not exist`);
    if (sandbox.state !== 'ready') throw new RuntimeError('IllegalState', `sandbox ${sandboxId} is stopped`);
    const same = this.#state
      .containersOf(sandboxId)
      .find(({ record }) => record.config.name === config.name && record.config.restartCount === config.restartCount);
    if (same !== undefined) return same.record.id;
    const record: ContainerRecord = {
      id: this.#deps.newId(),
      sandbox: sandboxId,
      sequence: this.#state.nextSequence(),
      config,
      state: 'created',
      createdAt: this.#deps.clock.now(),
    };
    this.#state.beginContainer(record);
    return record.id;
  }

  async startContainer(id: string, startBeforeMs?: number): Promise<void> {
    this.#assertOpen();
    const container = this.#state.require(id);
    if (container.record.state !== 'created') return;
    const sandbox = this.#state.sandbox(container.record.sandbox);
    if (sandbox?.state !== 'ready') {
      throw new RuntimeError('IllegalState', `sandbox ${container.record.sandbox} is stopped`);
    }
    this.#assertMayStart(container, sandbox.config, startBeforeMs);
    container.spawning ??= this.#spawn(container, sandbox, startBeforeMs);
    const spawned = await container.spawning;
    if (spawned !== undefined && (await spawned.setUp) !== '') await spawned.ended;
  }

  /** Ends what the deadline of the node covers, once it has passed. */
  fence(): void {
    const { now, deadline: read } = this.#deps.fencing;
    const deadline = read();
    if (deadline === undefined || !isPast(deadline, now())) return;
    for (const container of this.#state.containers()) {
      const fencing = this.#state.sandbox(container.record.sandbox)?.config.fencing;
      if (!mayHaveProcesses(container) || !isCoveredBy(deadline.policy, fencing)) continue;
      // The next look tries again what was not confirmed.
      this.stopContainer(container.record.id, 0, FENCE).catch(() => undefined);
    }
  }

  #assertMayStart({ record }: LiveContainer, { fencing }: SandboxConfig, startBeforeMs: number | undefined): void {
    const { now, deadline } = this.#deps.fencing;
    if (mayStart(deadline(), fencing, { startBeforeMs, nowMs: now() })) return;
    throw new RuntimeError('Fenced', `container ${record.config.name} had to start before the deadline of its node`);
  }

  /** Resolves when it is known whether the container has a process. */
  async #spawn(
    container: LiveContainer,
    { config: sandbox, network }: SandboxRecord,
    startBeforeMs: number | undefined,
  ): Promise<Spawned | undefined> {
    const { record } = container;
    try {
      const outcome = await spawnContainer({
        containerId: record.id,
        config: record.config,
        sandbox,
        network,
        workPath: this.#deps.files.workPath(record),
        rootPath: this.#deps.files.rootPath(record),
        logPath: this.#deps.files.logPath(record),
        node: this.#deps.isolation,
        views: this.#deps.views,
        assertMayStart: () => this.#assertMayStart(container, sandbox, startBeforeMs),
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
        const settled = this.#ends.leaderEnded(container, { code, signal, setUp }).catch(tellFault('an end failed'));
        void settled.then(resolve);
      });
    });
    const startTicks = readProcess(pid)?.startTicks ?? '';
    this.#logTimes.follow(this.#deps.files.logPath(container.record));
    this.#state.update(container, {
      state: 'running',
      startedAt: this.#deps.clock.now(),
      process: { pid, startTicks, bootId: this.#deps.bootId },
    });
    return { setUp, ended };
  }

  stopContainer(id: string, graceMs: number, owner: Owner): Promise<void> {
    const container = this.#state.container(id);
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
      if (earlier?.owner !== owner) this.#ends.signalLeader(container).catch(tellFault('a stop failed'));
    }
    return gone;
  }

  removeContainer(id: string): void {
    const container = this.#state.container(id);
    if (container === undefined) return;
    if (mayHaveProcesses(container))
      throw new RuntimeError('IllegalState', `container ${container.record.config.name} still runs`);
    this.#state.removeContainer(container.record);
  }

  list(podUid?: string): readonly SandboxStatus[] {
    return this.#state.list(podUid);
  }

  /** The owner disconnected: its stops continue without a kill, and no caller waits any more. */
  release(owner: Owner): void {
    for (const container of this.#state.containers()) {
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
    const all = [...this.#state.containers()];
    await Promise.all(all.map(({ record }) => this.stopContainer(record.id, graceMs, owner)));
  }

  #adoptRunning(container: LiveContainer, leader: ProcessIdentity): void {
    const { pid, startTicks, bootId } = leader;
    this.#logTimes.follow(this.#deps.files.logPath(container.record));
    this.#state.update(container, {
      state: 'running',
      startedAt: container.record.startedAt ?? this.#deps.clock.now(),
      process: { pid, startTicks, bootId },
    });
    const poll = (): void => {
      if (findAlive(leader, this.#deps.bootId) === undefined)
        this.#ends.endRest(container, this.#ends.unknownExit()).catch(tellFault('an end failed'));
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
    this.#state.update(container, { state: 'exited', exit });
    for (const waiter of container.waiters) waiter.resolve();
    container.waiters.clear();
  }

  #assertOpen(): void {
    if (this.#closing) throw new RuntimeError('Unavailable', 'the supervisor is shutting down');
  }
}
