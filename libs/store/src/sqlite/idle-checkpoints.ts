import type { Clock, Timer } from '@holdfast/platform/clock';
import { SQLITE_IDLE_CHECKPOINT_MS } from '../limits.ts';

/**
 * Checkpoints the log file into the database while nothing writes. SQLite does it by itself once the log is long, but
 * then in the middle of a write, whose client and all watchers wait until many megabytes are copied.
 */
export class IdleCheckpoints {
  readonly #database: { checkpoint(): void };
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #hasWritten = false;
  #isStopped = false;

  constructor(database: { checkpoint(): void }, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  wrote(): void {
    this.#hasWritten = true;
    if (!this.#isStopped) this.#timer ??= this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #look(): Timer {
    this.#hasWritten = false;
    return this.#clock.timer(SQLITE_IDLE_CHECKPOINT_MS, () => {
      this.#timer = undefined;
      if (this.#hasWritten) this.#timer = this.#look();
      else this.#copy();
    });
  }

  /** A failed checkpoint loses nothing: the log stays as it is, and the next write reports the disk's error. */
  #copy(): void {
    try {
      this.#database.checkpoint();
    } catch {
      // Intended: see the comment on this method.
    }
  }
}
