import type { Clock, Timer } from '@holdfast/platform/clock';
import { InFlight } from '@holdfast/platform/in-flight';
import { cutOff, type RawResponse } from './raw-response.ts';

/**
 * Short responses in flight. One that is not sent after a while is cut: its client does not read, and would hold it for
 * ever. There are many and nearly all are sent immediately, so none has a timer: an entry present in two consecutive
 * checks is too old.
 */
export class UnreadAnswers {
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #answers = new InFlight<RawResponse>();
  /** Entries up to here were present at the last check. */
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
