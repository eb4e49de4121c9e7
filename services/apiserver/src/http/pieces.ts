import { invariant } from '@holdfast/platform';

/** What is handed to a connection at once: large enough that few of them make up a long answer, small enough to hold for a slow client. */
export const PIECE_BYTES = 64 * 1024;

/** Collects a long document whose length is known into pieces, copying every byte once. */
export class Pieces {
  readonly #done: Buffer[] = [];
  #piece = NOTHING;
  #at = 0;
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  add(bytes: Buffer, from = 0): void {
    for (let start = from; start < bytes.length; ) {
      if (this.#at === this.#piece.length) this.#open();
      const copied = bytes.copy(this.#piece, this.#at, start);
      this.#at += copied;
      start += copied;
    }
  }

  all(): readonly Buffer[] {
    return this.#done;
  }

  #open(): void {
    invariant(this.#left > 0, 'a document is as long as it was said to be');
    this.#piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, this.#left));
    this.#left -= this.#piece.length;
    this.#at = 0;
    this.#done.push(this.#piece);
  }
}

const NOTHING = Buffer.alloc(0);
