import { invariant } from '../invariant.ts';
import { Fifo } from './fifo.ts';

export interface RevisionRingOptions<T> {
  readonly maxItems: number;
  readonly maxSize: number;
  /** Returns the same size for an item as long as the ring keeps it. */
  readonly sizeOf: (item: T) => number;
  /** Called for each item that leaves because of a limit. */
  readonly onDrop?: (item: T) => void;
}

/** The latest items in revision order, bounded by their number and by the sum of their sizes. */
export class RevisionRing<T extends { readonly revision: number }> {
  readonly #options: RevisionRingOptions<T>;
  readonly #items = new Fifo<T>();
  #size = 0;
  #floor: number | undefined;
  #last = 0;

  constructor(options: RevisionRingOptions<T>) {
    this.#options = options;
  }

  /** The ring keeps every item that came after this revision. */
  get floor(): number {
    return this.#floor ?? 0;
  }

  /** The revision of the newest item, also when the ring no longer keeps it. */
  get last(): number {
    return this.#last;
  }

  /** The item must be newer than all before it. The first one decides where the ring begins. */
  push(item: T): void {
    const { revision } = item;
    invariant(revision > this.#last, 'a ring goes forward', { revision, last: this.#last });
    this.#floor ??= revision - 1;
    this.#last = revision;
    this.#items.push(item);
    this.#size += this.#options.sizeOf(item);
    while (this.#isOver()) this.#dropOldest();
    invariant(this.#items.size > 0 || this.#size === 0, 'an empty ring has no size', { size: this.#size });
  }

  /** Returns the item that this many others have followed. */
  fromNewest(distance: number): T | undefined {
    return this.#items.at(this.#items.size - 1 - distance);
  }

  /** Returns the kept items above `revision`, oldest first. Below the floor some are missing. */
  after(revision: number): readonly T[] {
    return this.#items.slice(this.#firstAfter(revision));
  }

  /** Forgets every item. The ring continues after this revision. */
  restartAfter(revision: number): void {
    this.#items.clear();
    this.#size = 0;
    this.#floor = revision;
    this.#last = revision;
  }

  #isOver(): boolean {
    const { maxItems, maxSize } = this.#options;
    return this.#items.size > maxItems || (this.#size > maxSize && this.#items.size > 0);
  }

  #dropOldest(): void {
    const oldest = this.#items.shift();
    if (oldest === undefined) return;
    this.#size -= this.#options.sizeOf(oldest);
    this.#floor = oldest.revision;
    this.#options.onDrop?.(oldest);
  }

  /** Binary search: a reader that is nearly current must not scan the whole ring. */
  #firstAfter(revision: number): number {
    let low = 0;
    let high = this.#items.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#items.at(middle)?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
