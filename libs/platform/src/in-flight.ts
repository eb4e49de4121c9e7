/** As many short-lived things have a place each. */
const PLACES = 1_024;
const FREE = -1;

/**
 * Things under way, by growing numbers: nearly all are gone soon, a few stay for long. A Map would do the same, but V8 lets a table
 * that a Map has outgrown point to the one after it. Once one of them is an old object, it keeps all later ones and everything that was in
 * them alive until old objects are collected: of thousands of requests a second, each became an old object (docs/performance.md).
 */
export class InFlight<V extends object> {
  readonly #numbers: number[] = Array.from({ length: PLACES }, () => FREE);
  readonly #values: (V | undefined)[] = Array.from({ length: PLACES }, () => undefined);
  /** Whoever was still there when a later one needed the place. */
  readonly #lasting = new Map<number, V>();
  #placed = 0;
  #lastNumber = 0;

  get size(): number {
    return this.#placed + this.#lasting.size;
  }

  /** Under the next number, which is never given again. */
  add(value: V): number {
    this.set(++this.#lastNumber, value);
    return this.#lastNumber;
  }

  set(number: number, value: V): void {
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

  /** Those that have lasted, then the others, in no order that means anything. */
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
}
