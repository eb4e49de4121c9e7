import type { CacheEvent } from './cache-event.ts';

/** The most recent events of one resource in revision order, so that watches can resume and lists can look back. */
export class EventRing {
  readonly #capacity: number;
  #events: CacheEvent[] = [];
  #head = 0;
  /** Everything after this revision is in the ring. */
  #completeAfter: number;

  constructor(capacity: number, completeAfter: number) {
    this.#capacity = capacity;
    this.#completeAfter = completeAfter;
  }

  get completeAfter(): number {
    return this.#completeAfter;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    while (this.#events.length - this.#head > this.#capacity) {
      this.#completeAfter = this.#events[this.#head]?.revision ?? this.#completeAfter;
      this.#head++;
    }
    // Dropping the front one by one would move the whole array each time.
    if (this.#head > this.#capacity) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Events after `revision`, oldest first; `undefined` when some of them are gone. */
  since(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#completeAfter) return undefined;
    return this.#events.slice(this.#firstAfter(revision));
  }

  #firstAfter(revision: number): number {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.revision ?? 0) > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
