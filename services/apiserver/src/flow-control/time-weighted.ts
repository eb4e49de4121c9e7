/**
 * A histogram of what a value was at every moment, as Kubernetes has for utilizations: each nanosecond counts as one observation.
 * An update costs a subtraction and a walk over a few buckets, however long the value stays.
 */
export class TimeWeighted {
  readonly buckets: readonly number[];
  /** Nanoseconds by bucket; the last is for what is above all. */
  readonly #spent: number[];
  #sum = 0;
  #value = 0;
  #since: number;

  constructor(buckets: readonly number[], now: number) {
    this.buckets = buckets;
    this.#spent = [...buckets.map(() => 0), 0];
    this.#since = now;
  }

  /** The value from now on. */
  set(value: number, now: number): void {
    if (value === this.#value) return;
    this.#add(now);
    this.#value = value;
  }

  read(now: number): TimeWeightedReading {
    this.#add(now);
    let count = 0;
    const cumulative = this.#spent.map((spent) => (count += spent));
    return { cumulative, sum: this.#sum, count };
  }

  #add(now: number): void {
    const nanoseconds = Math.round(Math.max(0, now - this.#since) * NANOSECONDS_PER_MS);
    this.#since = now;
    let at = 0;
    while (at < this.buckets.length && this.#value > (this.buckets[at] ?? 0)) at += 1;
    this.#spent[at] = (this.#spent[at] ?? 0) + nanoseconds;
    this.#sum += this.#value * nanoseconds;
  }
}

const NANOSECONDS_PER_MS = 1e6;

export interface TimeWeightedReading {
  /** Up to each bucket, and in the end of all. */
  readonly cumulative: readonly number[];
  readonly sum: number;
  readonly count: number;
}
