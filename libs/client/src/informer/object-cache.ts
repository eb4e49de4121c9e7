import type { KubeObject } from '@holdfast/api';
import type { InformerChange } from '../port.ts';

/** Returns the index values under which an object is found. */
export type IndexFunction<T> = (object: T) => readonly string[];

/**
 * The entry stays the same object while its content changes. So lists and indexes in which its place is unchanged need
 * no update.
 */
interface Entry<T> {
  object: T;
  revision: number;
}

/** Entries by key, for one value of an index. */
type Group<T> = Map<string, Entry<T>>;

/** Filled when somebody first looks something up in it, and kept current from then on. */
interface Index<T> {
  readonly valuesOf: IndexFunction<T>;
  groups: Map<string, Group<T>> | undefined;
}

/** The applied change, or `undefined` when the cache already had something newer. */
export type Applied<T> = InformerChange<T> | undefined;

/**
 * Objects by key, by namespace and by index value. The revision of an object only grows, in whatever order changes
 * arrive. The cache remembers a deletion until nothing older can arrive (`forgetDeletionsUpTo`).
 */
export class ObjectCache<T extends KubeObject> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #byNamespace: Index<T> = { valuesOf: (object) => [object.metadata.namespace ?? ''], groups: undefined };
  readonly #byName: ReadonlyMap<string, Index<T>>;
  /** Those that are filled. */
  #indexes: readonly (Index<T> & { readonly groups: Map<string, Group<T>> })[] = [];
  readonly #deletions = new Map<string, number>();

  constructor(indexes: Readonly<Record<string, IndexFunction<T>>>) {
    this.#byName = new Map(Object.entries(indexes).map(([name, valuesOf]) => [name, { valuesOf, groups: undefined }]));
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object;
  }

  /** Returns the revision of the last applied change, including a deletion; 0 when none is remembered. */
  revisionOf(key: string): number {
    return this.#entries.get(key)?.revision ?? this.#deletions.get(key) ?? 0;
  }

  list(namespace: string | undefined): readonly T[] {
    return objectsOf(namespace === undefined ? this.#entries : this.#groupsOf(this.#byNamespace).get(namespace));
  }

  count(namespace: string | undefined): number {
    return namespace === undefined ? this.#entries.size : (this.#groupsOf(this.#byNamespace).get(namespace)?.size ?? 0);
  }

  /** Returns `undefined` when the index does not exist. */
  byIndex(index: string, value: string): readonly T[] | undefined {
    const known = this.#byName.get(index);
    return known === undefined ? undefined : objectsOf(this.#groupsOf(known).get(value));
  }

  #groupsOf(index: Index<T>): ReadonlyMap<string, Group<T>> {
    if (index.groups !== undefined) return index.groups;
    const groups = new Map<string, Group<T>>();
    for (const [key, entry] of this.#entries)
      for (const value of index.valuesOf(entry.object)) put(groups, value, key, entry);
    this.#indexes = [...this.#indexes, Object.assign(index, { groups })];
    return groups;
  }

  size(): number {
    return this.#entries.size;
  }

  deletions(): number {
    return this.#deletions.size;
  }

  upsert(key: string, object: T, revision: number): Applied<T> {
    const known = this.#entries.get(key);
    if (known !== undefined)
      return known.revision >= revision ? undefined : this.#replace(key, known, { object, revision });
    if (this.#deletions.size > 0) {
      if ((this.#deletions.get(key) ?? 0) >= revision) return undefined;
      this.#deletions.delete(key);
    }
    const entry = { object, revision };
    this.#entries.set(key, entry);
    for (const { valuesOf, groups } of this.#indexes) {
      for (const value of valuesOf(object)) put(groups, value, key, entry);
    }
    return { key, object, old: undefined };
  }

  #replace(key: string, entry: Entry<T>, { object, revision }: Entry<T>): InformerChange<T> {
    const old = entry.object;
    entry.object = object;
    entry.revision = revision;
    for (const { valuesOf, groups } of this.#indexes) {
      const before = valuesOf(old);
      const after = valuesOf(object);
      if (isSameList(before, after)) continue;
      for (const value of before) drop(groups, value, key);
      for (const value of after) put(groups, value, key, entry);
    }
    return { key, object, old };
  }

  /**
   * A new history begins and its revisions cannot be compared with those of this cache. The next change or list
   * replaces every object.
   */
  forgetRevisions(): void {
    for (const entry of this.#entries.values()) entry.revision = 0;
    this.#deletions.clear();
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

  /** Removes every object that is older than a complete list of `revision` and not in it. */
  removeAbsent(listed: ReadonlySet<string>, revision: number): readonly InformerChange<T>[] {
    const gone = [...this.#entries].filter(([key, entry]) => !listed.has(key) && entry.revision <= revision);
    return gone.flatMap(([key, entry]) => this.remove(key, Math.max(revision, entry.revision + 1)) ?? []);
  }

  /** Nothing at or below this revision can arrive any more. */
  forgetDeletionsUpTo(revision: number): void {
    for (const [key, deletedAt] of this.#deletions) if (deletedAt <= revision) this.#deletions.delete(key);
  }

  #unlink(key: string, object: T): void {
    for (const { valuesOf, groups } of this.#indexes) {
      for (const value of valuesOf(object)) drop(groups, value, key);
    }
  }
}

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

const objectsOf = <T>(group: Group<T> | undefined): readonly T[] =>
  group === undefined ? [] : Array.from(group.values(), (entry) => entry.object);

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

function put<T>(groups: Map<string, Group<T>>, value: string, key: string, entry: Entry<T>): void {
  const group = groups.get(value);
  if (group === undefined) groups.set(value, new Map([[key, entry]]));
  else group.set(key, entry);
}

function drop<T>(groups: Map<string, Group<T>>, value: string, key: string): void {
  const group = groups.get(value);
  group?.delete(key);
  if (group?.size === 0) groups.delete(value);
}
