import type { Clock, Timer } from '@holdfast/platform';
import { PULL_PROGRESS_FIRST_MS, PULL_PROGRESS_MAX_MS } from '../limits.ts';
import type { PullProgress } from '../runtime/port-images.ts';

/** Tells how far a pull is, less and less often: events are kept by the API. */
export class PullProgressEvents {
  readonly #clock: Clock;
  readonly #tell: (elapsedMs: number, progress: PullProgress | undefined) => void;
  readonly #startedAt: number;
  #progress: PullProgress | undefined;
  #timer: Timer;

  constructor(clock: Clock, tell: (elapsedMs: number, progress: PullProgress | undefined) => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#startedAt = clock.monotonic();
    this.#timer = this.#next(PULL_PROGRESS_FIRST_MS);
  }

  take(progress: PullProgress): void {
    this.#progress = progress;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #next(waitMs: number): Timer {
    return this.#clock.timer(waitMs, () => {
      this.#tell(this.#clock.monotonic() - this.#startedAt, this.#progress);
      this.#timer = this.#next(Math.min(2 * waitMs, PULL_PROGRESS_MAX_MS));
    });
  }
}
