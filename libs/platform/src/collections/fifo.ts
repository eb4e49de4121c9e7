/**
 * The queue is compacted when this many slots are consumed and they are at least half of it: constant work per item.
 */
const COMPACT_FROM = 64;

/**
 * A FIFO queue with constant cost at both ends (`Array.shift` moves every item). It does not keep references to items
 * it returned.
 */
export class Fifo<T> {
  #slots: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#slots.length - this.#head;
  }

  /** Slots in memory, including consumed ones. */
  get slots(): number {
    return this.#slots.length;
  }

  /** The item at this position from the oldest, which is at 0. */
  at(index: number): T | undefined {
    return index < 0 ? undefined : this.#slots[this.#head + index];
  }

  /** Copies the items from this position on, oldest first. */
  slice(from: number): readonly T[] {
    // Only slots before the head are emptied.
    return this.#slots.slice(this.#head + Math.max(0, from)) as T[];
  }

  push(item: T): void {
    this.#slots.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#slots.length) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head++] = undefined;
    if (this.#head === this.#slots.length) this.clear();
    else if (this.#head >= COMPACT_FROM && this.#head * 2 >= this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#slots = [];
    this.#head = 0;
  }
}
