import type { StoreKey } from '@holdfast/store';
import type { CachedObject } from './cached-object.ts';
import { SortedNames } from './sorted-names.ts';
import type { FieldReader } from './watcher-index.ts';

/** Keys of the current objects by the value of one field, so that a kubelet's list does not read every pod. */
export class FieldIndex {
  readonly #read: FieldReader;
  readonly #keys = new Map<string, SortedNames>();

  constructor(read: FieldReader) {
    this.#read = read;
  }

  keys(value: string): readonly StoreKey[] {
    return this.#keys.get(value)?.values() ?? [];
  }

  add(object: CachedObject): void {
    const value = this.#read(object.object);
    const keys = this.#keys.get(value) ?? new SortedNames();
    keys.add(object.key);
    this.#keys.set(value, keys);
  }

  delete(object: CachedObject): void {
    const value = this.#read(object.object);
    const keys = this.#keys.get(value);
    keys?.delete(object.key);
    if (keys?.size === 0) this.#keys.delete(value);
  }
}
