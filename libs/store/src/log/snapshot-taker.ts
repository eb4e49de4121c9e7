import { type Clock, describeError, type Log } from '@holdfast/platform';
import { LOG_TICK_MS } from '../limits.ts';
import { isSnapshotDue, type SnapshotPlace, takeSnapshot } from './snapshots.ts';
import type { StateMachine } from './state-machine.ts';

export interface SnapshotOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Entries after which a snapshot is taken. */
  readonly snapshotEntries?: number;
}

export interface SnapshotDeps {
  readonly place: () => SnapshotPlace | undefined;
  /** True when another process made the same of the log up to this position, or when there is no other one. */
  readonly isConfirmed: (position: number) => boolean;
}

/** Takes a snapshot when enough of the log has been applied. Only a process that writes does. */
export class SnapshotTaker {
  readonly #options: SnapshotOptions;
  readonly #deps: SnapshotDeps;
  #entries = 0;
  #bytes = 0;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: SnapshotOptions, deps: SnapshotDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  onApplied(machine: StateMachine, { bytes, isOwn }: { readonly bytes: number; readonly isOwn: boolean }): void {
    this.#entries += 1;
    this.#bytes += bytes;
    if (!isOwn || this.#isStopped || this.#running !== undefined) return;
    if (!isSnapshotDue({ entries: this.#entries, bytes: this.#bytes }, this.#options.snapshotEntries)) return;
    const dueAfterEntries = this.#entries;
    this.#entries = 0;
    this.#bytes = 0;
    this.#running = this.#take(machine, dueAfterEntries).finally(() => {
      this.#running = undefined;
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #take(machine: StateMachine, dueAfterEntries: number): Promise<void> {
    const place = this.#deps.place();
    if (place === undefined) return;
    const { log } = this.#options;
    const { position } = machine;
    try {
      const confirmed = (): Promise<boolean> => this.#confirmed(position);
      const taken = await takeSnapshot(place, machine.state, { dueAfterEntries, confirmed });
      if (taken) log.info('a snapshot of the store was taken', { position });
    } catch (error) {
      log.warn('a snapshot of the store failed', { reason: describeError(error) });
    }
  }

  /**
   * A process that made something else of the log than the others finds out by what they say. Until then nobody may
   * begin with what it has: it waits until another one says the same, or until nobody else has spoken for long.
   */
  async #confirmed(position: number): Promise<boolean> {
    while (!this.#isStopped && !this.#deps.isConfirmed(position)) await this.#options.clock.sleep(LOG_TICK_MS);
    return !this.#isStopped;
  }
}
