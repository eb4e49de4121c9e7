import { ANSWERS_UNDER_WAY_MAX } from '../limits.ts';

/**
 * Counts the short answers that the thread of HTTP has not written yet. While they are many, no further request begins. So the requests of a
 * client that has hundreds in flight wait in the fair queue, and not in the event loop of the thread of HTTP, where everybody waits behind them.
 */
export class AnswersUnderWay {
  #count = 0;
  #room = (): void => {};

  get isFull(): boolean {
    return this.#count >= ANSWERS_UNDER_WAY_MAX;
  }

  sent(): void {
    this.#count += 1;
  }

  written(answers: number): void {
    const wasFull = this.isFull;
    this.#count -= answers;
    if (wasFull && !this.isFull) this.#room();
  }

  /** Called when there is room again. */
  onRoom(run: () => void): void {
    this.#room = run;
  }
}
