import type { StoreKey } from '@holdfast/store';
import type { CachedObject } from './cached-object.ts';
import { SortedNames } from './sorted-names.ts';

/** Current objects of one resource by key, listed in the order of the store. */
export class ObjectIndex {
  readonly #byKey = new Map<StoreKey, CachedObject>();
  readonly #keysByNamespace = new Map<string, SortedNames>();
  readonly #namespaces = new SortedNames();

  get size(): number {
    return this.#byKey.size;
  }

  get(key: StoreKey): CachedObject | undefined {
    return this.#byKey.get(key);
  }

  set(object: CachedObject): void {
    if (!this.#byKey.has(object.key)) this.#keysOf(object.namespace).add(object.key);
    this.#byKey.set(object.key, object);
  }

  delete(object: CachedObject): void {
    if (!this.#byKey.delete(object.key)) return;
    const siblings = this.#keysByNamespace.get(object.namespace);
    siblings?.delete(object.key);
    if (siblings?.size !== 0) return;
    this.#keysByNamespace.delete(object.namespace);
    this.#namespaces.delete(`${object.namespace}/`);
  }

  /** Keys of one namespace, or of all when it is `undefined`, ascending. */
  *keys(namespace: string | undefined): IterableIterator<StoreKey> {
    if (namespace !== undefined) {
      yield* this.#keysByNamespace.get(namespace)?.values() ?? [];
      return;
    }
    for (const each of this.#namespaces.values()) yield* this.keys(each.slice(0, -1));
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
