import { invariant } from '@holdfast/platform';

/** The sizes of the changes in the history, oldest first. Every state machine of a log has the same. */
export class HistorySizes {
  #sizes: number[] = [];
  #head = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  get count(): number {
    return this.#sizes.length - this.#head;
  }

  push(size: number): void {
    this.#sizes.push(size);
    this.#total += size;
  }

  dropOldest(): void {
    const oldest = this.#sizes[this.#head];
    invariant(oldest !== undefined, 'the history holds what it drops');
    this.#total -= oldest;
    this.#head += 1;
    if (this.#head * 2 <= this.#sizes.length) return;
    this.#sizes = this.#sizes.slice(this.#head);
    this.#head = 0;
  }

  toArray(): readonly number[] {
    return this.#sizes.slice(this.#head);
  }
}
