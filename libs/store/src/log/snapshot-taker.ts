import { type Clock, describeError, type Log } from '@holdfast/platform';
import { isSnapshotDue, type SnapshotPlace, takeSnapshot } from './snapshots.ts';
import type { StateMachine } from './state-machine.ts';

export interface SnapshotOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Entries after which a snapshot is taken. */
  readonly snapshotEntries?: number;
}

/** Takes a snapshot when enough of the log has been applied. Only a process that writes does. */
export class SnapshotTaker {
  readonly #options: SnapshotOptions;
  readonly #place: () => SnapshotPlace | undefined;
  #entries = 0;
  #bytes = 0;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: SnapshotOptions, place: () => SnapshotPlace | undefined) {
    this.#options = options;
    this.#place = place;
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
    const place = this.#place();
    if (place === undefined) return;
    const { log } = this.#options;
    try {
      const taken = await takeSnapshot(place, machine.state, { dueAfterEntries });
      if (taken) log.info('a snapshot of the store was taken', { position: machine.position });
    } catch (error) {
      log.warn('a snapshot of the store failed', { reason: describeError(error) });
    }
  }
}
