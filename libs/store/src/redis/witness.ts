import { REDIS_WITNESSED_CHANGES } from '../limits.ts';
import type { Revision } from '../port.ts';

/** One place of the history: which write took this revision. */
export interface Sighting {
  readonly revision: Revision;
  readonly writeId: string;
}

/**
 * The newest changes that this process has seen or written. Two histories that went apart differ in one of them, because whoever
 * repeats a write under its id repeats the last ones only.
 */
export class Witness {
  /** By revision modulo the number of slots. */
  readonly #slots = new Map<number, Sighting>();

  /** Answers the earlier sighting when it was of another write. */
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
