import { Fifo } from '@holdfast/platform';

/** Work of which only so much is done at a time; the rest waits in order. */
export class Places {
  readonly #max: number;
  readonly #waiting = new Fifo<() => void>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#max) this.#taken++;
    else await new Promise<void>((begin) => this.#waiting.push(begin));
    try {
      return await work();
    } finally {
      // The next one takes this place over.
      const begin = this.#waiting.shift();
      if (begin === undefined) this.#taken--;
      else begin();
    }
  }
}
