import { LineReader } from './watch-lines.ts';

/** Lines that the page keeps. Older ones are read again with a larger tail. */
export const LOG_LINES_MAX = 5_000;

/** The newest lines of a log that is followed. */
export class LogBuffer {
  #reader = new LineReader();
  #lines: string[] = [];

  take(text: string): void {
    this.#lines.push(...this.#reader.take(text));
    if (this.#lines.length > LOG_LINES_MAX) this.#lines = this.#lines.slice(-LOG_LINES_MAX);
  }

  clear(): void {
    this.#reader = new LineReader();
    this.#lines = [];
  }

  /** Those that contain the words, in any case. */
  matching(words: string): readonly string[] {
    if (words === '') return this.#lines;
    const wanted = words.toLowerCase();
    return this.#lines.filter((line) => line.toLowerCase().includes(wanted));
  }
}
