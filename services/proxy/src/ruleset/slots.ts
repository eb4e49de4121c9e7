import { invariant } from '@holdfast/platform';
import { POOL_SLOTS_MIN } from '../limits.ts';

export interface SlotChange {
  readonly slot: number;
  /** `undefined`: the slot gets empty. */
  readonly target: string | undefined;
  /** The slot held something else before. */
  readonly hadTarget: boolean;
}

export interface Placement {
  readonly offset: number;
  readonly count: number;
  readonly changes: readonly SlotChange[];
}

interface Pool {
  offset: number;
  capacity: number;
  targets: readonly string[];
}

/**
 * Gives every pool a range of numbers, so that one map of the kernel holds the targets of all pools, and a rule picks
 * one by `offset + random below count`. A change of one target moves at most one other target.
 */
export class SlotTable {
  readonly #pools = new Map<string, Pool>();
  /** Ranges of pools that ended, by capacity. */
  readonly #free = new Map<number, number[]>();
  #end = 0;

  /** `targets` has no duplicates. An empty list ends the pool. */
  place(name: string, targets: readonly string[]): Placement {
    const pool = this.#pools.get(name);
    const before = pool?.targets ?? [];
    if (targets.length === 0) return { offset: 0, count: 0, changes: this.#release(name, pool) };
    if (pool !== undefined && targets.length <= pool.capacity) {
      pool.targets = inOldPlaces(before, targets);
      return { offset: pool.offset, count: targets.length, changes: changesOf(pool.offset, before, pool.targets) };
    }
    const emptied = this.#release(name, pool);
    const made = this.#begin(name, inOldPlaces(before, targets));
    return {
      offset: made.offset,
      count: targets.length,
      changes: [...emptied, ...changesOf(made.offset, [], made.targets)],
    };
  }

  #begin(name: string, targets: readonly string[]): Pool {
    const capacity = capacityFor(targets.length);
    const offset = this.#free.get(capacity)?.pop() ?? this.#end;
    if (offset === this.#end) this.#end += capacity;
    invariant(this.#end <= 2 ** 32, 'a slot is a number of 32 bits', { end: this.#end });
    const pool = { offset, capacity, targets };
    this.#pools.set(name, pool);
    return pool;
  }

  #release(name: string, pool: Pool | undefined): readonly SlotChange[] {
    if (pool === undefined) return [];
    this.#pools.delete(name);
    const free = this.#free.get(pool.capacity) ?? [];
    free.push(pool.offset);
    this.#free.set(pool.capacity, free);
    return changesOf(pool.offset, pool.targets, []);
  }
}

const capacityFor = (count: number): number => {
  let capacity = POOL_SLOTS_MIN;
  while (capacity < count) capacity *= 2;
  return capacity;
};

/** Keeps what stays where it is. The gaps get what is new, then what lies behind the end. */
export function inOldPlaces(before: readonly string[], targets: readonly string[]): readonly string[] {
  const wanted = new Set(targets);
  const kept = before.slice(0, targets.length).map((target) => (wanted.has(target) ? target : undefined));
  const placed = new Set(kept);
  const others = targets.filter((target) => !placed.has(target)).values();
  return Array.from(targets, (_, i) => kept[i] ?? others.next().value ?? '');
}

function changesOf(offset: number, before: readonly string[], after: readonly string[]): readonly SlotChange[] {
  const changes: SlotChange[] = [];
  for (let i = 0; i < Math.max(before.length, after.length); i += 1) {
    if (before[i] === after[i]) continue;
    changes.push({ slot: offset + i, target: after[i], hadTarget: before[i] !== undefined });
  }
  return changes;
}
