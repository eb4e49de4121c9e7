import { invariant } from '@holdfast/platform';
import type { Change, ListOptions, ListPage, Revision, StoredObject, StoreKey } from '../port.ts';
import { sizeOfState } from './change-size.ts';
import { objectAfter } from './operations.ts';
import { SortedKeys } from './sorted-keys.ts';

/** All current objects in memory, with their revision. It knows only committed state. */
export class ObjectTable {
  readonly #objects = new Map<StoreKey, StoredObject>();
  readonly #keys = new SortedKeys();
  #revision: Revision;
  #bytes = 0;

  constructor(revision: Revision = 0) {
    this.#revision = revision;
  }

  get revision(): Revision {
    return this.#revision;
  }

  /** Size of all objects together, see `StoreUsage`. */
  get bytes(): number {
    return this.#bytes;
  }

  readonly get = (key: StoreKey): StoredObject | undefined => this.#objects.get(key);

  list(prefix: string, { limit, after }: ListOptions = {}): ListPage {
    invariant(limit === undefined || limit > 0, 'a list limit is positive', { limit });
    const { keys, more } = this.#keys.range({ prefix, after, limit });
    const objects = keys.map((key) => {
      const object = this.#objects.get(key);
      invariant(object !== undefined, 'an indexed key has an object', { key });
      return object;
    });
    return { objects, revision: this.#revision, more };
  }

  apply(changes: readonly Change[]): void {
    for (const change of changes) this.#applyOne(change);
  }

  /** Restores a stored object at start-up. `size` is what `sizeOfState` returns for it. */
  restore(object: StoredObject, size = sizeOfState(object.key, object.value)): void {
    const before = this.#objects.get(object.key);
    if (before === undefined) this.#keys.add(object.key);
    else this.#count(before, undefined);
    this.#bytes += size;
    this.#objects.set(object.key, object);
  }

  /** Removes a restored object again, because a later row deletes it. */
  restoreDeletion(key: StoreKey): void {
    this.#count(this.#objects.get(key), undefined);
    this.#objects.delete(key);
    this.#keys.delete(key);
  }

  /** Sets the revision of the restored objects. Changes continue from there. */
  restoreRevision(revision: Revision): void {
    invariant(revision >= this.#revision, 'a table goes forward', { revision, at: this.#revision });
    this.#revision = revision;
  }

  #applyOne(change: Change): void {
    const { key, revision, previousRevision } = change;
    const current = this.#objects.get(key);
    invariant(revision === this.#revision + 1, 'changes are contiguous', { revision, at: this.#revision });
    invariant((current?.revision ?? 0) === previousRevision, 'a change names the revision it replaces', { key });
    this.#revision = revision;
    const next = objectAfter(change, current);
    this.#count(current, next);
    if (next === undefined) {
      this.#objects.delete(key);
      this.#keys.delete(key);
      return;
    }
    this.#objects.set(key, next);
    if (current === undefined) this.#keys.add(key);
  }

  #count(before: StoredObject | undefined, after: StoredObject | undefined): void {
    if (before !== undefined) this.#bytes -= sizeOfState(before.key, before.value);
    if (after !== undefined) this.#bytes += sizeOfState(after.key, after.value);
  }
}
