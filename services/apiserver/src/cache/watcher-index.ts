import type { KubeObject } from '@holdfast/api';
import type { CacheEvent } from './cache-event.ts';
import type { CachedObject } from './cached-object.ts';
import type { Watcher } from './watcher.ts';

export type FieldReader = (object: KubeObject) => string;

/**
 * Open watches of one resource, each in exactly one bucket: the most selective thing it asks for. A change looks only
 * into the buckets it can match, so its cost does not grow with watches of other names, nodes and namespaces.
 */
export class WatcherIndex {
  readonly #fields: () => Readonly<Record<string, FieldReader>>;
  readonly #buckets = new Map<string, Set<Watcher>>();
  readonly #watchersByField = new Map<string, number>();
  #size = 0;

  constructor(fields: () => Readonly<Record<string, FieldReader>>) {
    this.#fields = fields;
  }

  get size(): number {
    return this.#size;
  }

  add(watcher: Watcher): void {
    const bucket = bucketOf(watcher);
    const members = this.#buckets.get(bucket) ?? new Set();
    members.add(watcher);
    this.#buckets.set(bucket, members);
    this.#size++;
    this.#countField(watcher, 1);
  }

  delete(watcher: Watcher): void {
    const bucket = bucketOf(watcher);
    const members = this.#buckets.get(bucket);
    if (members?.delete(watcher) !== true) return;
    if (members.size === 0) this.#buckets.delete(bucket);
    this.#size--;
    this.#countField(watcher, -1);
  }

  /** Every watcher, for bookmarks and for the end. */
  all(): readonly Watcher[] {
    return [...this.#buckets.values()].flatMap((members) => [...members]);
  }

  /** Watchers that the change may concern. */
  *candidates(event: CacheEvent): IterableIterator<Watcher> {
    if (this.#size === 0) return;
    for (const bucket of this.#bucketsOf(event)) yield* this.#buckets.get(bucket) ?? [];
  }

  #bucketsOf(event: CacheEvent): ReadonlySet<string> {
    const buckets = new Set([ALL, byNamespace(event.current.namespace), byName(event.current.name)]);
    for (const field of this.#watchersByField.keys()) {
      for (const object of [event.current, event.previous]) {
        if (object !== undefined) buckets.add(byField(field, this.#read(field, object)));
      }
    }
    return buckets;
  }

  #read(field: string, object: CachedObject): string {
    return this.#fields()[field]?.(object.object) ?? '';
  }

  #countField(watcher: Watcher, by: 1 | -1): void {
    const exact = watcher.selection.exactField;
    if (exact === undefined || watcher.selection.exactName !== undefined) return;
    const count = (this.#watchersByField.get(exact.field) ?? 0) + by;
    if (count === 0) this.#watchersByField.delete(exact.field);
    else this.#watchersByField.set(exact.field, count);
  }
}

const ALL = '*';
const byNamespace = (namespace: string): string => `ns/${namespace}`;
const byName = (name: string): string => `name/${name}`;
const byField = (field: string, value: string): string => `field/${field}=${value}`;

function bucketOf(watcher: Watcher): string {
  const { exactName, exactField, namespace } = watcher.selection;
  if (exactName !== undefined) return byName(exactName);
  if (exactField !== undefined) return byField(exactField.field, exactField.value);
  return namespace === undefined ? ALL : byNamespace(namespace);
}
