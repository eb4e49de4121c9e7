import { RevisionRing } from '@holdfast/platform';
import { EVENT_BYTES_KEPT_PER_RESOURCE } from '../limits.ts';
import type { CacheEvent } from './cache-event.ts';

/** An older event is idle: its value and bytes are recreated on demand. */
const AWAKE_EVENTS = 64;
/** Number of new states that keep the writer's value: a new object is often changed soon. */
const WRITTEN_KEPT = 1_024;

/** The most recent events of one resource in revision order, so that watches can resume and lists can look back. */
export class EventHistory {
  readonly #ring: RevisionRing<CacheEvent>;

  constructor(capacity: number, completeAfter: number, bytesMax: number = EVENT_BYTES_KEPT_PER_RESOURCE) {
    this.#ring = new RevisionRing({
      maxItems: capacity,
      maxSize: bytesMax,
      sizeOf: (event) => event.current.size,
      onDrop: (event) => event.doze(),
    });
    this.#ring.restartAfter(completeAfter);
  }

  /** Every event after this revision is kept. */
  get completeAfter(): number {
    return this.#ring.floor;
  }

  push(event: CacheEvent): void {
    // First: the ring may drop these for the new event.
    this.#ring.fromNewest(AWAKE_EVENTS - 1)?.rest();
    this.#ring.fromNewest(WRITTEN_KEPT - 1)?.doze();
    this.#ring.push(event);
  }

  /** Events after `revision`, oldest first; `undefined` when some of them are gone. */
  since(revision: number): readonly CacheEvent[] | undefined {
    return revision < this.completeAfter ? undefined : this.#ring.after(revision);
  }
}
