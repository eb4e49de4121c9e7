import { REDIS_WITNESSED_CHANGES } from '../limits.ts';
import type { Revision } from '../port.ts';

/** One position of the history: the write that took this revision. */
export interface Sighting {
  readonly revision: Revision;
  readonly writeId: string;
}

/**
 * The newest changes that this process has seen or written. Two histories that diverged differ in one of them, because
 * a client that repeats a write under its id repeats only recent ones.
 */
export class Witness {
  /** By revision modulo the number of slots. */
  readonly #slots = new Map<number, Sighting>();

  /** Returns the earlier sighting of this revision when it shows a different write. */
  note(sighting: Sighting): Sighting | undefined {
    const slot = sighting.revision % REDIS_WITNESSED_CHANGES;
    const known = this.#slots.get(slot);
    if (known !== undefined && known.revision > sighting.revision) return undefined;
    if (known?.revision === sighting.revision) return known.writeId === sighting.writeId ? undefined : known;
    this.#slots.set(slot, sighting);
    return undefined;
  }

  recent(): readonly Sighting[] {
    return [...this.#slots.values()].toSorted((a, b) => b.revision - a.revision);
  }
}
