import { crc32 } from 'node:zlib';
import type { StoreKey } from '../port.ts';

/** What the server has read from its file is not what was written: its file has no checksum of each entry. */
export class DamagedValue extends Error {
  override readonly name = 'DamagedValue';
}

/** The checksum of a value under its key. */
export const checksumOf = (key: StoreKey, value: string): string => crc32(value, crc32(key)).toString(36);

/** An entry of the history without a checksum is of an earlier version. */
export function assertEntry(key: StoreKey, value: string, checksum: string | undefined): void {
  if (checksum === undefined || checksum === checksumOf(key, value)) return;
  throw new DamagedValue(
    `the change of ${key} in the history is not what was written: the data of the server are damaged`,
  );
}

/** `check`: the revision to which the checksum belongs, and the checksum. That of another revision is older than the value. */
export function assertObject(key: StoreKey, value: string, revision: string, check: unknown): void {
  if (isObjectWhole(key, value, revision, check)) return;
  throw new DamagedValue(`${key} at revision ${revision} is not what was written: the data of the server are damaged`);
}

export function isObjectWhole(key: StoreKey, value: string, revision: string, check: unknown): boolean {
  if (typeof check !== 'string') return true;
  const [checked, checksum] = check.split(' ');
  if (checked === revision) return checksum === checksumOf(key, value);
  // An API server of an earlier version has written it since. A revision never goes back.
  return Number(checked) < Number(revision);
}
