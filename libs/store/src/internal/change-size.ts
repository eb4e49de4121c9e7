import type { Change } from '../port.ts';

/** Rough: strings of ASCII take a byte per character, and a change costs about this much beside them. */
const CHANGE_OVERHEAD_BYTES = 160;

export function sizeOfChange(change: Pick<Change, 'key' | 'value'>): number {
  return change.value.length + change.key.length + CHANGE_OVERHEAD_BYTES;
}
