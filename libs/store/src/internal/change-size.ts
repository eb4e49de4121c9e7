import type { Change, StoreKey } from '../port.ts';

/** The cost of a state beside its text: the key of an index, numbers, table slots. */
export const STATE_OVERHEAD_BYTES = 160;

/** The size of one state of an object, equal in every backend: its text and its key in UTF-8, and a fixed overhead. */
export const sizeOfState = (key: StoreKey, value: string): number =>
  sizeOfText(Buffer.byteLength(value) + Buffer.byteLength(key));

/** The same for known bytes of text and key together. */
export const sizeOfText = (textBytes: number): number => textBytes + STATE_OVERHEAD_BYTES;

export const sizeOfChange = ({ key, value }: Pick<Change, 'key' | 'value'>): number => sizeOfState(key, value);
