/** Counts what happens, by what it is. */
export class Activity {
  /** Grows with everything that happens. */
  total = 0;
  readonly #counts = new Map<string, number>();

  /** `what` is absent for the rest of something that was counted. */
  add(what?: string): void {
    this.total += 1;
    if (what !== undefined) this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** The counts of now, to compare with later. */
  counts(): ReadonlyMap<string, number> {
    return new Map(this.#counts);
  }

  /** Returns what happened most often since `before`: `update pods default/a (118 times)`. */
  mostOftenSince(before: ReadonlyMap<string, number>): string | undefined {
    const since = [...this.#counts].map(([what, count]) => ({ what, count: count - (before.get(what) ?? 0) }));
    const [most] = since.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
    return most === undefined ? undefined : `${most.what} (${most.count} times)`;
  }
}
