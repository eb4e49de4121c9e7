interface Interval {
  readonly first: number;
  readonly last: number;
}

/** A set of completion indexes, kept as intervals: a Job of a hundred thousand indexes has few of them most of the time. */
export class IndexSet {
  static readonly empty = new IndexSet([]);
  readonly #intervals: readonly Interval[];
  readonly size: number;

  private constructor(intervals: readonly Interval[]) {
    this.#intervals = intervals;
    this.size = intervals.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  }

  /** `1,3-5`; what lies at or beyond `end` is left out, and so is what cannot be read. */
  static parse(text: string | undefined, end: number): IndexSet {
    const intervals = (text ?? '').split(',').flatMap((part): Interval[] => {
      const found = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (found === null) return [];
      const first = Number(found[1]);
      const last = Math.min(Number(found[2] ?? found[1]), end - 1);
      return first <= last ? [{ first, last }] : [];
    });
    return new IndexSet(joined(intervals));
  }

  static of(indexes: Iterable<number>): IndexSet {
    return new IndexSet(joined(Array.from(indexes, (index) => ({ first: index, last: index }))));
  }

  with(indexes: Iterable<number>): IndexSet {
    return this.union(IndexSet.of(indexes));
  }

  union(other: IndexSet): IndexSet {
    if (other.size === 0) return this;
    return new IndexSet(joined([...this.#intervals, ...other.#intervals]));
  }

  has(index: number): boolean {
    let [low, high] = [0, this.#intervals.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const interval = this.#intervals[middle];
      if (interval === undefined) return false;
      if (index < interval.first) high = middle - 1;
      else if (index > interval.last) low = middle + 1;
      else return true;
    }
    return false;
  }

  /** The smallest `count` indexes below `end` that are not in the set. */
  firstMissing(count: number, end: number): number[] {
    const missing: number[] = [];
    let next = 0;
    for (const { first, last } of [...this.#intervals, { first: end, last: end }]) {
      while (next < Math.min(first, end) && missing.length < count) missing.push(next++);
      if (missing.length >= count) break;
      next = last + 1;
    }
    return missing;
  }

  countOf(other: IndexSet): number {
    return this.size + other.size - this.union(other).size;
  }

  /** Two adjacent indexes print as a pair, three or more as a range. */
  toString(): string {
    return this.#intervals
      .map(({ first, last }) => {
        if (first === last) return String(first);
        return `${first}${last === first + 1 ? ',' : '-'}${last}`;
      })
      .join(',');
  }
}

function joined(intervals: readonly Interval[]): readonly Interval[] {
  const out: { first: number; last: number }[] = [];
  for (const { first, last } of [...intervals].sort((a, b) => a.first - b.first)) {
    const before = out.at(-1);
    if (before !== undefined && first <= before.last + 1) before.last = Math.max(before.last, last);
    else out.push({ first, last });
  }
  return out;
}
