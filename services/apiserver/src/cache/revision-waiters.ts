import type { Clock, Timer } from '@holdfast/platform';

interface Waiter {
  readonly revision: number;
  readonly settle: (reached: boolean) => void;
  readonly timer: Timer;
}

/** Requests that wait until the cache has reached a revision. */
export class RevisionWaiters {
  readonly #clock: Clock;
  #waiters: Waiter[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(revision: number, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#clock.timer(timeoutMs, () => {
        this.#waiters = this.#waiters.filter((each) => each !== waiter);
        resolve(false);
      });
      const waiter: Waiter = { revision, settle: resolve, timer };
      this.#waiters.push(waiter);
    });
  }

  reached(revision: number): void {
    if (this.#waiters.length === 0) return;
    const due = this.#waiters.filter((each) => each.revision <= revision);
    if (due.length === 0) return;
    this.#waiters = this.#waiters.filter((each) => each.revision > revision);
    for (const waiter of due) {
      waiter.timer.cancel();
      waiter.settle(true);
    }
  }
}
