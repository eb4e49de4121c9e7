import { invariant } from '@holdfast/platform';
import { MAP_SLOTS, POOL_SLOTS_MIN } from '../limits.ts';

export interface SlotChange {
  /** The number of the map that holds the slot. */
  readonly map: number;
  readonly slot: number;
  /** `undefined`: the slot gets empty. */
  readonly target: string | undefined;
  /** The slot held something else before. */
  readonly hadTarget: boolean;
}

export interface Placement {
  readonly map: number;
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
 * Gives every pool a range of numbers, so that maps of the kernel hold the targets of many pools each, and a rule
 * picks one by `offset + random below count`. A change of one target moves at most one other target.
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
    if (targets.length === 0) return { map: 0, offset: 0, count: 0, changes: this.#release(name, pool) };
    if (pool !== undefined && targets.length <= pool.capacity) {
      pool.targets = inOldPlaces(before, targets);
      return placement(pool, changesOf(pool.offset, before, pool.targets));
    }
    const emptied = this.#release(name, pool);
    const made = this.#begin(name, inOldPlaces(before, targets));
    return placement(made, [...emptied, ...changesOf(made.offset, [], made.targets)]);
  }

  #begin(name: string, targets: readonly string[]): Pool {
    const capacity = capacityFor(targets.length);
    const offset = this.#free.get(capacity)?.pop() ?? this.#extend(capacity);
    invariant(this.#end <= 2 ** 32, 'a slot is a number of 32 bits', { end: this.#end });
    const pool = { offset, capacity, targets };
    this.#pools.set(name, pool);
    return pool;
  }

  /** A pool lies in one map, so one that does not fit into the rest of a map begins the next. */
  #extend(capacity: number): number {
    const rest = MAP_SLOTS - (this.#end % MAP_SLOTS);
    const offset = capacity <= rest ? this.#end : this.#end + rest;
    // Capacities are powers of two: a larger pool ends where a map ends.
    this.#end = offset + capacity;
    return offset;
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

const placement = ({ offset, targets }: Pool, changes: readonly SlotChange[]): Placement => ({
  map: mapOf(offset),
  offset,
  count: targets.length,
  changes,
});

/** A pool that is larger than a map has the map of its first slot to itself. */
const mapOf = (offset: number): number => Math.floor(offset / MAP_SLOTS);

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
    changes.push({ map: mapOf(offset), slot: offset + i, target: after[i], hadTarget: before[i] !== undefined });
  }
  return changes;
}
