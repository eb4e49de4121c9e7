import { invariant } from '@holdfast/platform';

/** The number of ids that a pod sees: 0 to 65535, as on any machine. */
export const USER_RANGE_LENGTH = 65_536;
/** Below lie the machine's own users and files. */
export const FIRST_POD_ID = 65_536;
/** Room for pods that ended and are kept; fifty nodes of one machine still have ranges of their own. */
export const USER_RANGES_PER_NODE = 1_024;
/** The kernel's "no id". */
const NO_ID = 2 ** 32 - 1;

/** Ids of the machine that belong to one pod: id 0 inside is `firstId` outside, and so on. */
export interface UserRange {
  readonly firstId: number;
  readonly length: number;
}

/** The ids that one node may give away. */
export interface UserRangePool {
  readonly firstId: number;
  readonly ranges: number;
}

export function userRangePool(nodeOfMachine = 0): UserRangePool {
  const firstId = FIRST_POD_ID + nodeOfMachine * USER_RANGES_PER_NODE * USER_RANGE_LENGTH;
  const pool = { firstId, ranges: USER_RANGES_PER_NODE };
  invariant(lastId(pool) < NO_ID, 'the ids of a node exist', { nodeOfMachine });
  return pool;
}

const lastId = ({ firstId, ranges }: UserRangePool): number => firstId + ranges * USER_RANGE_LENGTH - 1;

/** Returns the lowest range of the pool that overlaps none of those; `undefined` when there is none. */
export function freeRange(pool: UserRangePool, taken: Iterable<UserRange>): UserRange | undefined {
  const used = new Set<number>();
  for (const { firstId, length } of taken) {
    const first = Math.floor((firstId - pool.firstId) / USER_RANGE_LENGTH);
    const last = Math.floor((firstId + length - 1 - pool.firstId) / USER_RANGE_LENGTH);
    for (let index = Math.max(0, first); index <= Math.min(last, pool.ranges - 1); index++) used.add(index);
  }
  for (let index = 0; index < pool.ranges; index++) {
    if (!used.has(index)) return { firstId: pool.firstId + index * USER_RANGE_LENGTH, length: USER_RANGE_LENGTH };
  }
  return undefined;
}

/** The ranges that ids of the machine lie in, but for the machine's own. */
export function rangesAround(ids: readonly number[]): readonly UserRange[] {
  const first = ids.filter((id) => id >= FIRST_POD_ID).map((id) => id - (id % USER_RANGE_LENGTH));
  return [...new Set(first)].map((firstId) => ({ firstId, length: USER_RANGE_LENGTH }));
}

/** Returns the outer id of an inner id; `undefined` for an invalid inner id. */
export function hostIdOf(range: UserRange, id: number): number | undefined {
  return Number.isInteger(id) && id >= 0 && id < range.length ? range.firstId + id : undefined;
}
