import type { Clock, Timer } from '@holdfast/platform/clock';
import { SQLITE_IDLE_CHECKPOINT_MS } from '../limits.ts';

/**
 * Copies the log file into the database while nobody writes. SQLite does it by itself once the log is long: then in the middle of a
 * write, whose client and all watchers wait for as long as many megabytes take.
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

  /** One that fails loses nothing: the log stays as it is, and the next write tells what is wrong with the disk. */
  #copy(): void {
    try {
      this.#database.checkpoint();
    } catch {
      // As said.
    }
  }
}
