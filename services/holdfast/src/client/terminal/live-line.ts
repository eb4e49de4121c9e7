import { stripVTControlCharacters } from 'node:util';
import type { Output } from './open-terminal.ts';

const CLEAR = '\r\u001b[K';
/** A terminal that does not know its size says 0. */
const DEFAULT_COLUMNS = 80;

/** The last line of a terminal, which is drawn again and again. Other lines appear above it. */
export class LiveLine {
  readonly #stream: Output;
  #text = '';

  constructor(stream: Output) {
    this.#stream = stream;
  }

  /** An empty text removes the line. A text of more than one line of the terminal could not be removed again. */
  show(text: string): void {
    const columns = this.#stream.columns || DEFAULT_COLUMNS;
    const fitting = stripVTControlCharacters(text).slice(0, Math.max(0, columns - 1));
    if (fitting === this.#text) return;
    this.#text = fitting;
    this.#stream.write(`${CLEAR}${fitting}`);
  }

  above(write: () => void): void {
    if (this.#text === '') {
      write();
      return;
    }
    this.#stream.write(CLEAR);
    write();
    this.#stream.write(this.#text);
  }
}
