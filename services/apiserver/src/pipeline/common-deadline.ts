import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { Clock, Timer } from '@holdfast/platform';
import { BoundedRequest } from './bounded-request.ts';

interface Waiting {
  readonly untilMs: number;
  end(): void;
}

/**
 * The deadline of requests whose clients name none. It is the same for all, so requests reach it in the order of their begin: one
 * timer is enough, and an answer in time costs no timer of its own.
 */
export class CommonDeadline {
  readonly #clock: Clock;
  readonly #afterMs: number;
  /** In the order of their begin. */
  readonly #waiting = new Set<Waiting>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(clock: Clock, afterMs: number) {
    this.#clock = clock;
    this.#afterMs = afterMs;
  }

  answer(request: ApiRequest, work: (request: ApiRequest) => Promise<ApiResponse>): Promise<ApiResponse> {
    if (this.#isStopped) return work(request);
    const bounded = new BoundedRequest(request);
    const answered = work(bounded.request);
    return new Promise((resolve, reject) => {
      const untilMs = this.#clock.monotonic() + this.#afterMs;
      const waiting = { untilMs, end: (): void => reject(bounded.end(answered)) };
      this.#waiting.add(waiting);
      this.#timer ??= this.#clock.timer(this.#afterMs, () => this.#fire());
      answered.then(
        (response) => {
          this.#waiting.delete(waiting);
          resolve(response);
        },
        (error: unknown) => {
          this.#waiting.delete(waiting);
          reject(error);
        },
      );
    });
  }

  /** Nothing has a deadline any more: the process ends, and keeps no timer. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonic();
    for (const waiting of this.#waiting) {
      if (waiting.untilMs > nowMs) {
        this.#timer = this.#clock.timer(waiting.untilMs - nowMs, () => this.#fire());
        return;
      }
      this.#waiting.delete(waiting);
      waiting.end();
    }
  }
}
