import type { Change, StoreKey } from '../port.ts';

/** What a state costs beside its text: the key of an index, numbers, places in tables. */
export const STATE_OVERHEAD_BYTES = 160;

/** Bytes that one state of an object counts for, in every backend: its text and its key in UTF-8, and a fixed overhead. */
export const sizeOfState = (key: StoreKey, value: string): number =>
  Buffer.byteLength(value) + Buffer.byteLength(key) + STATE_OVERHEAD_BYTES;

export const sizeOfChange = ({ key, value }: Pick<Change, 'key' | 'value'>): number => sizeOfState(key, value);
