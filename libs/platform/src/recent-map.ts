/** A map of at most `maxEntries`: for one more it forgets the entry that was set, or touched, before all others. */
export class RecentMap<K, V> {
  readonly #maxEntries: number;
  readonly #entries = new Map<K, V>();
  /**
   * Where the oldest entry is looked for. A new iterator would step over every hole that forgotten entries have left at the front
   * (56 us of 20,000 entries); this one has them behind it. It never comes to the end: the entry just set is always before it.
   * An iterator that is not moved keeps every table that the map has outgrown, and moving entries outgrows them too: after as
   * many moves as there are entries it is begun anew, so the steps over holes cost each move a few.
   */
  #fromOldest = this.#entries.keys();
  #movesSinceBegun = 0;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Does not count as use. */
  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Makes the entry, if there is one, the last to be forgotten. */
  touch(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    const isMoved = this.#entries.delete(key);
    this.#entries.set(key, value);
    if (isMoved) this.#countMove();
    if (this.#entries.size <= this.#maxEntries) return;
    const oldest = this.#fromOldest.next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }

  #countMove(): void {
    if (++this.#movesSinceBegun < this.#entries.size) return;
    this.#movesSinceBegun = 0;
    this.#fromOldest = this.#entries.keys();
  }
}
