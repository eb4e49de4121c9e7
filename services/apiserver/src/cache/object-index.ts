import type { StoreKey } from '@holdfast/store';
import type { CachedObject } from './cached-object.ts';
import { SortedNames } from './sorted-names.ts';

const NONE: readonly CachedObject[] = [];

/** Current objects of one resource by key, listed in the order of the store. */
export class ObjectIndex {
  readonly #byKey = new Map<StoreKey, CachedObject>();
  readonly #keysByNamespace = new Map<string, SortedNames>();
  readonly #namespaces = new SortedNames();
  /** Sorted lists until a change; the list of all namespaces has the key `undefined`. */
  readonly #lists = new Map<string | undefined, readonly CachedObject[]>();

  get size(): number {
    return this.#byKey.size;
  }

  get(key: StoreKey): CachedObject | undefined {
    return this.#byKey.get(key);
  }

  /** Unordered. */
  values(): IterableIterator<CachedObject> {
    return this.#byKey.values();
  }

  set(object: CachedObject): void {
    const { size } = this.#byKey;
    this.#byKey.set(object.key, object);
    if (this.#byKey.size > size) this.#keysOf(object.namespace).add(object.key);
    this.#forgetLists(object.namespace);
  }

  delete(object: CachedObject): void {
    if (!this.#byKey.delete(object.key)) return;
    this.#forgetLists(object.namespace);
    const siblings = this.#keysByNamespace.get(object.namespace);
    siblings?.delete(object.key);
    if (siblings?.size !== 0) return;
    this.#keysByNamespace.delete(object.namespace);
    this.#namespaces.delete(`${object.namespace}/`);
  }

  /** All objects of one namespace, or of all when it is `undefined`, in the order of their keys. */
  all(namespace: string | undefined): readonly CachedObject[] {
    const known = this.#lists.get(namespace);
    if (known !== undefined) return known;
    if (namespace !== undefined && !this.#keysByNamespace.has(namespace)) return NONE;
    const objects: CachedObject[] = [];
    for (const key of this.keys(namespace)) {
      const object = this.#byKey.get(key);
      if (object !== undefined) objects.push(object);
    }
    // Prevents filling the memory by listing namespaces that do not exist.
    if (objects.length > 0) this.#lists.set(namespace, objects);
    return objects;
  }

  #forgetLists(namespace: string): void {
    if (this.#lists.size === 0) return;
    this.#lists.delete(namespace);
    this.#lists.delete(undefined);
  }

  /** Keys of one namespace, or of all when it is `undefined`, ascending; only those after `after`. Costs what it yields. */
  *keys(namespace: string | undefined, after?: StoreKey): IterableIterator<StoreKey> {
    for (const names of this.#sortedKeys(namespace)) {
      const keys = names.values();
      for (let at = names.firstAfter(after); at < keys.length; at++) yield keys[at] ?? '';
    }
  }

  /** How many keys come after this one. */
  countAfter(namespace: string | undefined, after: StoreKey): number {
    let count = 0;
    for (const names of this.#sortedKeys(namespace)) count += names.size - names.firstAfter(after);
    return count;
  }

  *#sortedKeys(namespace: string | undefined): IterableIterator<SortedNames> {
    const namespaces = namespace === undefined ? this.#namespaces.values() : [`${namespace}/`];
    for (const each of namespaces) {
      const names = this.#keysByNamespace.get(each.slice(0, -1));
      if (names !== undefined) yield names;
    }
  }

  #keysOf(namespace: string): SortedNames {
    const known = this.#keysByNamespace.get(namespace);
    if (known !== undefined) return known;
    const keys = new SortedNames();
    this.#keysByNamespace.set(namespace, keys);
    // With the separator, namespaces sort exactly as the keys that start with them.
    this.#namespaces.add(`${namespace}/`);
    return keys;
  }
}
