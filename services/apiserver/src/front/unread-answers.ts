import type { Clock, Timer } from '@holdfast/platform/clock';
import type { RawResponse } from './client-answer.ts';

/**
 * Short answers on their way. One that has not left after a while is cut off: its client does not read, and would hold it for ever.
 * They are many and nearly all leave at once, so none has a timer: whoever is there at two looks, a while apart, has been there for one.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #stallMs: number;
  #new = new Set<RawResponse>();
  #seen = new Set<RawResponse>();
  #look: Timer | undefined;

  constructor(clock: Clock, stallMs: number) {
    this.#clock = clock;
    this.#stallMs = stallMs;
  }

  add(answer: RawResponse): void {
    this.#new.add(answer);
    this.#look ??= this.#lookLater();
  }

  left(answer: RawResponse): void {
    if (!this.#new.delete(answer)) this.#seen.delete(answer);
  }

  stop(): void {
    this.#look?.cancel();
  }

  #lookLater(): Timer {
    return this.#clock.timer(this.#stallMs, () => {
      const stalled = this.#seen;
      this.#seen = this.#new;
      this.#new = new Set();
      for (const answer of stalled) answer.destroy();
      this.#look = this.#seen.size > 0 ? this.#lookLater() : undefined;
    });
  }
}
