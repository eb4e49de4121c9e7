/** Consumed slots are given back once there are this many and they are at least half of the queue: constant work per frame. */
const COMPACT_AFTER_SLOTS = 1_024;

/** First in, first out; what was taken is no longer held. */
export class FrameQueue<T> {
  #slots: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#slots.length - this.#head;
  }

  /** Places held, taken ones too. */
  get slots(): number {
    return this.#slots.length;
  }

  push(item: T): void {
    this.#slots.push(item);
  }

  take(): T | undefined {
    const item = this.#slots[this.#head];
    if (item === undefined) return undefined;
    this.#slots[this.#head++] = undefined;
    if (this.#head === this.#slots.length) this.clear();
    else if (this.#head >= COMPACT_AFTER_SLOTS && this.#head * 2 >= this.#slots.length) {
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
