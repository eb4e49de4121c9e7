import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { Informer, InformerChange, Target } from '@holdfast/client';
import { invariant } from '@holdfast/platform';
import { keyOf, revisionOf } from '../common/meta.ts';

export type IndexFunctions = Readonly<Record<string, (object: KubeObject) => readonly string[]>>;

/** A cache that is fed by hand and can be held back, as a watch that has stalled. */
export class ModelCache<T extends KubeObject = KubeObject> implements Informer<T> {
  readonly name: string;
  /** Objects that lists and indexes have answered with: what a pass costs. */
  visited = 0;
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(change: InformerChange<T>) => void>();
  readonly #indexes: IndexFunctions;
  /** By index name and value, as the real cache: tests with thousands of objects need it. */
  readonly #byValue = new Map<string, Map<string, T>>();
  #held: { revision: number; key: string; object: T | undefined }[] = [];
  readonly #deletions = new Map<string, number>();
  #frozen = false;
  #revision = 0;

  constructor(resource: ResourceRef<T>, indexes: IndexFunctions) {
    this.name = resource.plural;
    this.#indexes = indexes;
  }

  freeze(): void {
    this.#frozen = true;
  }

  /** Lets the oldest `count` held changes through; all of them, and every later one, when left out. */
  thaw(count = Number.POSITIVE_INFINITY): void {
    if (count === Number.POSITIVE_INFINITY) this.#frozen = false;
    const due = this.#held.slice(0, count);
    this.#held = this.#held.slice(count);
    for (const change of due) this.#apply(change.revision, change.key, change.object);
  }

  /** Lets everything through as a new list after a gap does: of each object only what became of it. */
  jump(): void {
    const last = new Map(this.#held.map((change) => [change.key, change]));
    this.#held = [...last.values()];
    this.thaw();
  }

  /** A deletion of an absent object arrives; earlier events, of this object and of others, do not. */
  overtake(revision: number, key: string): void {
    this.#deletions.set(key, revision);
  }

  feed(revision: number, key: string, object: T | undefined): void {
    if (this.#frozen) this.#held.push({ revision, key, object });
    else this.#apply(revision, key, object);
  }

  #apply(revision: number, key: string, object: T | undefined): void {
    const old = this.#objects.get(key);
    this.#revision = revision;
    if (old !== undefined) this.#index(old, (values) => values.delete(key));
    if (object === undefined) this.#objects.delete(key);
    else {
      this.#objects.set(key, object);
      this.#index(object, (values) => values.set(key, object));
    }
    for (const listener of this.#listeners) listener({ key, object, old });
  }

  get(target: Target): T | undefined {
    return this.#objects.get(keyOf({ metadata: target }));
  }
  list(namespace?: string): readonly T[] {
    return this.#seen(this.#all(namespace));
  }
  count(namespace?: string): number {
    return namespace === undefined ? this.#objects.size : this.#all(namespace).length;
  }
  #all(namespace: string | undefined): readonly T[] {
    return [...this.#objects.values()].filter((o) => namespace === undefined || o.metadata.namespace === namespace);
  }
  #seen(found: readonly T[]): readonly T[] {
    this.visited += found.length;
    return found;
  }
  byIndex(index: string, value: string): readonly T[] {
    invariant(index in this.#indexes, 'an index is declared before it is asked', { index, kind: this.name });
    return this.#seen([...(this.#byValue.get(`${index} ${value}`)?.values() ?? [])]);
  }
  #index(object: T, change: (values: Map<string, T>) => void): void {
    for (const [name, valuesOf] of Object.entries(this.#indexes)) {
      for (const value of valuesOf(object)) {
        const values = this.#byValue.get(`${name} ${value}`) ?? new Map<string, T>();
        this.#byValue.set(`${name} ${value}`, values);
        change(values);
      }
    }
  }
  onChange(listener: (change: InformerChange<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  revision(): number {
    return this.#revision;
  }
  reflects(target: Target, revision: number): boolean {
    const cached = this.get(target);
    const known = cached === undefined ? this.#deletions.get(keyOf({ metadata: target })) : revisionOf(cached);
    return this.#revision >= revision || (known !== undefined && known >= revision);
  }
  synced(): Promise<void> {
    return Promise.resolve();
  }
  start(): Promise<void> {
    return Promise.resolve();
  }
  stop(): Promise<void> {
    return Promise.resolve();
  }
}
