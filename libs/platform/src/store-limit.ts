import { heapLimitBytes } from './heap-limit.ts';

const BYTES_PER_MIB = 1024 * 1024;
/** Without a setting, at most so much: what etcd takes by default. */
const DEFAULT_MOST_BYTES = 2_048 * BYTES_PER_MIB;
/**
 * Texts of two bytes a character take twice of what counts, what is parsed takes as much again as its budget allows, and requests, events
 * and the components of the same process need memory, too.
 */
const PART_OF_HEAP = 1 / 8;
/** Beside the limit, for writes that keep the cluster alive. */
const RESERVE_PART = 1 / 10;

export const STORE_LIMIT_SETTING = {
  kind: 'integer',
  help: 'MiB of objects and kept history that the store takes; default: an eighth of the heap (node --max-old-space-size), at most 2048',
  min: 1,
  max: 1_048_576,
} as const;

/** The bound of a store: as set, or by the heap of this process, which holds what the store holds. */
export function storeLimits(
  mebibytes: number | undefined,
  heapBytes: number = heapLimitBytes(),
): { readonly bytes: number; readonly reserveBytes: number } {
  const bytes =
    mebibytes === undefined
      ? Math.floor(Math.min(DEFAULT_MOST_BYTES, heapBytes * PART_OF_HEAP))
      : mebibytes * BYTES_PER_MIB;
  return { bytes, reserveBytes: Math.floor(bytes * RESERVE_PART) };
}
