/** Slots for short-lived entries. */
const PLACES = 1_024;
const FREE = -1;

/**
 * Entries under increasing numbers: nearly all leave soon, a few stay for long. A Map has the same interface, but V8
 * lets a table that a Map has outgrown point to the next one. Once one of them is an old object, it keeps all later
 * tables and their content alive until V8 collects old objects. With thousands of requests a second, each request
 * became an old object (docs/performance.md).
 */
export class InFlight<V extends object> {
  /** Both are empty until the first entry: most of those in a process that has many clusters never get one. */
  #numbers: number[] = [];
  #values: (V | undefined)[] = [];
  /** Entries that were still present when a later one needed their slot. */
  readonly #lasting = new Map<number, V>();
  #placed = 0;
  #lastNumber = 0;

  get size(): number {
    return this.#placed + this.#lasting.size;
  }

  /** Returns the number of the entry. Numbers are never reused. */
  add(value: V): number {
    this.set(++this.#lastNumber, value);
    return this.#lastNumber;
  }

  set(number: number, value: V): void {
    if (this.#numbers.length === 0) this.#open();
    const place = number % PLACES;
    const holder = this.#numbers[place];
    const held = this.#values[place];
    if (held === undefined) this.#placed += 1;
    else if (holder !== undefined && holder !== number) this.#lasting.set(holder, held);
    if (this.#lasting.size > 0) this.#lasting.delete(number);
    this.#numbers[place] = number;
    this.#values[place] = value;
  }

  get(number: number): V | undefined {
    const place = number % PLACES;
    return this.#numbers[place] === number ? this.#values[place] : this.#lasting.get(number);
  }

  delete(number: number): boolean {
    const place = number % PLACES;
    if (this.#numbers[place] !== number) return this.#lasting.delete(number);
    this.#numbers[place] = FREE;
    this.#values[place] = undefined;
    this.#placed -= 1;
    return true;
  }

  /** Yields long-lived entries first, then the others in no particular order. */
  *entries(): Iterable<readonly [number, V]> {
    yield* this.#lasting;
    for (const [place, number] of this.#numbers.entries()) {
      const value = this.#values[place];
      if (value !== undefined) yield [number, value];
    }
  }

  *values(): Iterable<V> {
    for (const [, value] of this.entries()) yield value;
  }

  clear(): void {
    this.#lasting.clear();
    this.#numbers.fill(FREE);
    this.#values.fill(undefined);
    this.#placed = 0;
  }

  #open(): void {
    this.#numbers = Array.from<number>({ length: PLACES }).fill(FREE);
    this.#values = Array.from<V | undefined>({ length: PLACES }).fill(undefined);
  }
}
