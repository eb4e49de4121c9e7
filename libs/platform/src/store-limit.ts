import { heapLimitBytes } from './heap-limit.ts';

const BYTES_PER_MIB = 1024 * 1024;
/** Upper bound of the default limit: the default of etcd. */
const DEFAULT_MOST_BYTES = 2_048 * BYTES_PER_MIB;
/**
 * Texts with two bytes per character take twice the counted size, parsed objects take as much again as their budget
 * allows, and requests, events and other components of the process need memory, too.
 */
const PART_OF_HEAP = 1 / 8;
/** Additional space for writes that keep the cluster alive. */
const RESERVE_PART = 1 / 10;

export const STORE_LIMIT_SETTING = {
  kind: 'integer',
  help: 'maximum MiB of objects and history in the store; default: an eighth of the heap (node --max-old-space-size), at most 2048',
  min: 1,
  max: 1_048_576,
} as const;

/**
 * Returns the limits of a store: the setting, or a part of this process's heap, because the process holds the whole
 * store.
 */
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
