import { EVENT_BYTES_KEPT_PER_RESOURCE } from '../limits.ts';
import type { CacheEvent } from './cache-event.ts';

/** An older event is idle: its value and bytes are recreated on demand. */
const AWAKE_EVENTS = 64;
/** Number of new states that keep the writer's value: a new object is often changed soon. */
const WRITTEN_KEPT = 1_024;

/** The most recent events of one resource in revision order, so that watches can resume and lists can look back. */
export class EventRing {
  readonly #capacity: number;
  readonly #bytesMax: number;
  #bytes = 0;
  /** Empty before `#head`. */
  #events: (CacheEvent | undefined)[] = [];
  #head = 0;
  /** Everything after this revision is in the ring. */
  #completeAfter: number;

  constructor(capacity: number, completeAfter: number, bytesMax: number = EVENT_BYTES_KEPT_PER_RESOURCE) {
    this.#capacity = capacity;
    this.#bytesMax = bytesMax;
    this.#completeAfter = completeAfter;
  }

  get completeAfter(): number {
    return this.#completeAfter;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#events[this.#events.length - 1 - AWAKE_EVENTS]?.rest();
    this.#events[this.#events.length - 1 - WRITTEN_KEPT]?.doze();
    this.#bytes += event.current.size;
    while (this.#events.length - this.#head > this.#capacity || this.#bytes > this.#bytesMax) {
      if (!this.#dropOldest()) break;
    }
    // Dropping the front one by one would move the whole array each time.
    if (this.#head > this.#capacity) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Its place is emptied too: until the array is cut, a place would hold the object. */
  #dropOldest(): boolean {
    const oldest = this.#events[this.#head];
    if (oldest === undefined) return false;
    oldest.doze();
    this.#completeAfter = oldest.revision;
    this.#bytes -= oldest.current.size;
    this.#events[this.#head++] = undefined;
    return true;
  }

  /** Events after `revision`, oldest first; `undefined` when some of them are gone. */
  since(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#completeAfter) return undefined;
    return this.#events.slice(this.#firstAfter(revision)).filter((event) => event !== undefined);
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
