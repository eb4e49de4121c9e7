import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { Clock, Timer } from '@holdfast/platform';
import { discard } from '../front/answer-bodies.ts';
import { outOfTime } from '../http/out-of-time.ts';

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
    const ending = new Ending(request);
    const answered = work(ending.request);
    return new Promise((resolve, reject) => {
      const waiting = {
        untilMs: this.#clock.monotonic() + this.#afterMs,
        end: (): void => {
          const error = outOfTime();
          reject(error);
          ending.abort(error);
          answered.then(({ body }) => discard(body)).catch(() => undefined);
        },
      };
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

/** A request with a signal of its own. It is made on demand: few requests last long enough. */
class Ending {
  readonly request: ApiRequest;
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;

  constructor(asked: ApiRequest) {
    const { method, path, query, headers, body, connection } = asked;
    const signalOf = (): AbortSignal => (this.#signal ??= this.#open(asked.signal));
    this.request = {
      method,
      path,
      query,
      headers,
      ...(body === undefined ? {} : { body }),
      get signal() {
        return signalOf();
      },
      isOver: () => this.#reason !== undefined,
      asked,
      ...(connection === undefined ? {} : { connection }),
    };
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  #open(asked: AbortSignal | undefined): AbortSignal {
    this.#controller = new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    const { signal } = this.#controller;
    return asked === undefined ? signal : AbortSignal.any([asked, signal]);
  }
}
