import type { StoreKey } from '../port.ts';

/** All keys carry one hash tag, so that a cluster-mode service stores them in one slot. */
const TAG = '{k8s}';

/** The data layout of this code; `fmt` in the meta hash. */
export const LAYOUT_FORMAT = 1;

/** Hash: rev, compact, inc, epoch, state, fmt. */
export const META_KEY = `${TAG}:m`;
/** Stream: one entry per revision, ID `<revision>-0`, with a checksum as its last field. */
export const HISTORY_KEY = `${TAG}:h`;
export const OBJECT_KEY_PREFIX = `${TAG}:o:`;
export const INDEX_KEY_PREFIX = `${TAG}:i:`;

/** Hash per object: v value, r revision, c create revision, s size, x revision and checksum. */
export function objectHashKey(key: StoreKey): string {
  return OBJECT_KEY_PREFIX + key;
}

/** Hash: write id -> answer. */
export function writeIdsKey(bucket: number): string {
  return `${TAG}:w:${bucket}`;
}

/** Splits a key into `<group>/<resource>` and `<namespace>/<name>`. */
export function splitKey(key: StoreKey): { readonly resource: string; readonly member: string } {
  const cut = key.indexOf('/', key.indexOf('/') + 1);
  return { resource: key.slice(0, cut), member: key.slice(cut + 1) };
}

/** Sorted set of the members of a resource with all scores 0. It provides key order and paging. */
export function indexKey(resource: string): string {
  return INDEX_KEY_PREFIX + resource;
}
