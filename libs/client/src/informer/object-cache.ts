import type { KubeObject } from '@holdfast/api';
import type { InformerChange } from '../port.ts';

/** Where an index finds the values under which an object is listed. */
export type IndexFunction<T> = (object: T) => readonly string[];

interface Entry<T> {
  readonly object: T;
  readonly revision: number;
}

/** What was applied, or `undefined` when the cache knew something newer. */
export type Applied<T> = InformerChange<T> | undefined;

/**
 * Objects by key, by namespace and by index value. Per object the revision only grows, whatever the order in which changes
 * arrive: a deletion is remembered until nothing older can arrive any more (`forgetDeletionsUpTo`).
 */
export class ObjectCache<T extends KubeObject> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #byNamespace = new Map<string, Map<string, T>>();
  readonly #indexes: ReadonlyMap<string, { valuesOf: IndexFunction<T>; byValue: Map<string, Map<string, T>> }>;
  readonly #deletions = new Map<string, number>();

  constructor(indexes: Readonly<Record<string, IndexFunction<T>>>) {
    this.#indexes = new Map(
      Object.entries(indexes).map(([name, valuesOf]) => [name, { valuesOf, byValue: new Map() }]),
    );
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object;
  }

  list(namespace: string | undefined): readonly T[] {
    if (namespace !== undefined) return [...(this.#byNamespace.get(namespace)?.values() ?? [])];
    return Array.from(this.#entries.values(), (entry) => entry.object);
  }

  count(namespace: string | undefined): number {
    return namespace === undefined ? this.#entries.size : (this.#byNamespace.get(namespace)?.size ?? 0);
  }

  byIndex(index: string, value: string): readonly T[] {
    return [...(this.#indexes.get(index)?.byValue.get(value)?.values() ?? [])];
  }

  hasIndex(index: string): boolean {
    return this.#indexes.has(index);
  }

  size(): number {
    return this.#entries.size;
  }

  deletions(): number {
    return this.#deletions.size;
  }

  upsert(object: T, revision: number): Applied<T> {
    const key = keyOf(object);
    const known = this.#entries.get(key);
    if (known !== undefined && known.revision >= revision) return undefined;
    if ((this.#deletions.get(key) ?? 0) >= revision) return undefined;
    this.#deletions.delete(key);
    if (known !== undefined) this.#unlink(key, known.object);
    this.#entries.set(key, { object, revision });
    this.#link(key, object);
    return { key, object, old: known?.object };
  }

  remove(key: string, revision: number): Applied<T> {
    const known = this.#entries.get(key);
    if (known !== undefined && known.revision >= revision) return undefined;
    this.#deletions.set(key, Math.max(revision, this.#deletions.get(key) ?? 0));
    if (known === undefined) return undefined;
    this.#entries.delete(key);
    this.#unlink(key, known.object);
    return { key, object: undefined, old: known.object };
  }

  /** Everything older than a complete list of `revision` that the list does not name is gone. */
  removeAbsent(listed: ReadonlySet<string>, revision: number): readonly InformerChange<T>[] {
    const gone = [...this.#entries].filter(([key, entry]) => !listed.has(key) && entry.revision <= revision);
    return gone.flatMap(([key, entry]) => this.remove(key, Math.max(revision, entry.revision + 1)) ?? []);
  }

  /** Nothing at or below this revision can arrive any more. */
  forgetDeletionsUpTo(revision: number): void {
    for (const [key, deletedAt] of this.#deletions) if (deletedAt <= revision) this.#deletions.delete(key);
  }

  #link(key: string, object: T): void {
    put(this.#byNamespace, object.metadata.namespace ?? '', key, object);
    for (const { valuesOf, byValue } of this.#indexes.values()) {
      for (const value of valuesOf(object)) put(byValue, value, key, object);
    }
  }

  #unlink(key: string, object: T): void {
    drop(this.#byNamespace, object.metadata.namespace ?? '', key);
    for (const { valuesOf, byValue } of this.#indexes.values()) {
      for (const value of valuesOf(object)) drop(byValue, value, key);
    }
  }
}

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

function put<T>(groups: Map<string, Map<string, T>>, value: string, key: string, object: T): void {
  const group = groups.get(value);
  if (group === undefined) groups.set(value, new Map([[key, object]]));
  else group.set(key, object);
}

function drop<T>(groups: Map<string, Map<string, T>>, value: string, key: string): void {
  const group = groups.get(value);
  group?.delete(key);
  if (group?.size === 0) groups.delete(value);
}
