import { ANSWERS_UNDER_WAY_MAX } from '../limits.ts';

/**
 * Counts the short answers that the thread of HTTP has not written yet. While they are many, no further request begins. So the requests of a
 * client that has hundreds in flight wait in the fair queue, and not in the event loop of the thread of HTTP, where everybody waits behind them.
 */
export class AnswersUnderWay {
  #count = 0;
  #isOver = false;
  #room = (): void => {};

  get isFull(): boolean {
    return !this.#isOver && this.#count >= ANSWERS_UNDER_WAY_MAX;
  }

  sent(): void {
    this.#count += 1;
  }

  written(answers: number): void {
    const wasFull = this.isFull;
    this.#count -= answers;
    if (wasFull && !this.isFull) this.#room();
  }

  /** The thread of HTTP has ended and acknowledges nothing more: what still works does not wait for it. */
  end(): void {
    const wasFull = this.isFull;
    this.#isOver = true;
    if (wasFull) this.#room();
  }

  /** Called when there is room again. */
  onRoom(run: () => void): void {
    this.#room = run;
  }
}
