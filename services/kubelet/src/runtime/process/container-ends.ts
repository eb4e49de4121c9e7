import { constants } from 'node:os';
import type { Clock } from '@holdfast/platform';
import { RuntimeError } from '../port.ts';
import { ADOPTED_POLL_MS, DEATH_CONFIRM_MS, DEATH_POLL_MS } from './limits.ts';
import type { LiveContainer } from './live-container.ts';
import { findAlive } from './process-table.ts';
import type { ProcessWatch } from './process-watch.ts';
import type { ContainerExit } from './records.ts';
import { sendSignal } from './send-signal.ts';
import { tellFault } from './tell-fault.ts';
import { childrenOf } from './terminal.ts';

export interface ContainerEndsDeps {
  readonly clock: Clock;
  readonly processes: ProcessWatch;
  readonly bootId: string;
  /** Every process of it is gone. */
  readonly onExited: (container: LiveContainer, exit: ContainerExit) => void;
}

interface LeaderEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the command could not be started after all; '' when it was. */
  readonly setUp: Promise<string>;
}

/** Ends containers: signals, kills, and the proof that no process is left. */
export class ContainerEnds {
  readonly #deps: ContainerEndsDeps;
  /** Those of which a failed look was told. */
  readonly #failed = new WeakSet<LiveContainer>();

  constructor(deps: ContainerEndsDeps) {
    this.#deps = deps;
  }

  async leaderEnded(container: LiveContainer, end: LeaderEnd): Promise<void> {
    const failure = await end.setUp;
    if (failure !== '') return this.endRest(container, { ...this.exitNow(128, 'StartError'), message: failure });
    const signalNumber = end.signal === null ? undefined : constants.signals[end.signal];
    const exitCode = signalNumber === undefined ? (end.code ?? 0) : 128 + signalNumber;
    const exit = this.exitNow(exitCode, exitCode === 0 ? 'Completed' : 'Error');
    return this.endRest(container, signalNumber === undefined ? exit : { ...exit, signal: signalNumber });
  }

  /** As in a PID namespace: when the first process ends, the kernel kills all others. */
  async endRest(container: LiveContainer, exit: ContainerExit): Promise<void> {
    if (container.ending) return;
    container.ending = true;
    for (let waited = 0; ; waited += DEATH_POLL_MS) {
      const killed = await this.#killMembers(container);
      if (killed === 0) break;
      if (waited >= DEATH_CONFIRM_MS) this.#tellUnconfirmed(container);
      // What outlives the kill that long may live for ever: then looks cost less.
      await this.#deps.clock.sleep(waited < DEATH_CONFIRM_MS ? DEATH_POLL_MS : ADOPTED_POLL_MS);
    }
    container.ending = false;
    this.#deps.onExited(container, exit);
  }

  /** Resolves with the number of those that lived. A look that failed proves no end, so it counts as one that lives. */
  async #killMembers(container: LiveContainer): Promise<number> {
    try {
      const members = await this.#deps.processes.members(container.record, { leaderWasSeen: true });
      for (const member of members) sendSignal(member.pid, 'SIGKILL');
      return members.length;
    } catch (error) {
      // The next look is a moment away, and would fill the log with the same.
      if (!this.#failed.has(container)) tellFault('a look at the processes of a container failed')(error);
      this.#failed.add(container);
      return 1;
    }
  }

  killAfter(container: LiveContainer, graceMs: number): { cancel: () => void } {
    return this.#deps.clock.timer(graceMs, () => {
      this.#killUntilGone(container).catch(tellFault('a stop failed'));
    });
  }

  /** The end itself is noticed by the watch on the leader; this only insists. */
  async #killUntilGone(container: LiveContainer): Promise<void> {
    for (let waited = 0; container.record.state === 'running'; waited += DEATH_POLL_MS) {
      await this.#killMembers(container);
      if (waited >= DEATH_CONFIRM_MS) {
        this.#tellUnconfirmed(container);
        container.stop = undefined;
        return;
      }
      await this.#deps.clock.sleep(DEATH_POLL_MS);
    }
  }

  #tellUnconfirmed(container: LiveContainer): void {
    const { name } = container.record.config;
    const seconds = DEATH_CONFIRM_MS / 1000;
    for (const waiter of container.waiters) {
      waiter.reject(new RuntimeError('Unconfirmed', `processes of container ${name} live ${seconds} s after the kill`));
    }
    container.waiters.clear();
  }

  /** Looks first: what its first process started may lose its parents with it. */
  async signalLeader(container: LiveContainer): Promise<void> {
    const failed = tellFault('a look at the processes of a container failed');
    await this.#deps.processes.follow([container.record]).catch(failed);
    const leader = container.record.process;
    if (leader === undefined || findAlive(leader, this.#deps.bootId) === undefined) return;
    const { tty = false } = container.record.config;
    for (const pid of tty ? childrenOf(leader.pid) : [leader.pid]) sendSignal(pid, 'SIGTERM');
  }

  unknownExit(): ContainerExit {
    return {
      ...this.exitNow(137, 'ContainerStatusUnknown'),
      message: 'The container ended while no supervisor could collect its exit code',
    };
  }

  exitNow(exitCode: number, reason: string): ContainerExit {
    return { finishedAt: this.#deps.clock.now(), exitCode, reason };
  }
}
