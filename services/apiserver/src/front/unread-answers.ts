import type { Clock, Timer } from '@holdfast/platform/clock';
import { InFlight } from '@holdfast/platform/in-flight';
import { cutOff, type RawResponse } from './raw-response.ts';

/**
 * Short answers on their way. One that has not left after a while is cut off: its client does not read, and would hold it for ever.
 * They are many and nearly all leave at once, so none has a timer: whoever is there at two looks, a while apart, has been there for one.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #answers = new InFlight<RawResponse>();
  /** Those up to here were there at the last look. */
  #seen = 0;
  #last = 0;
  #look: Timer | undefined;

  constructor(clock: Clock, stallMs: number) {
    this.#clock = clock;
    this.#stallMs = stallMs;
  }

  /** Under a number that it leaves with. */
  add(answer: RawResponse): number {
    this.#last = this.#answers.add(answer);
    this.#look ??= this.#lookLater();
    return this.#last;
  }

  left(number: number): void {
    this.#answers.delete(number);
  }

  stop(): void {
    this.#look?.cancel();
  }

  #lookLater(): Timer {
    return this.#clock.timer(this.#stallMs, () => {
      const stalled = [...this.#answers.entries()].filter(([number]) => number <= this.#seen);
      this.#seen = this.#last;
      for (const [number, answer] of stalled) {
        this.#answers.delete(number);
        cutOff(answer);
      }
      this.#look = this.#answers.size > 0 ? this.#lookLater() : undefined;
    });
  }
}
