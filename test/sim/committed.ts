import type { KubeObject, ResourceRef } from '@holdfast/api';
import { type Revision, resourcePrefix, type StoredObject, type WriteOperation } from '@holdfast/store';

/** One committed change of an object, in the order of the store. */
export interface Commit {
  readonly revision: Revision;
  readonly operation: WriteOperation;
  /** The requesting user, or the API server that wrote it by itself. */
  readonly by?: string;
  /** When the API server got the request of this write, in virtual time. */
  readonly askedAtMs?: number;
}

interface Entry {
  readonly revision: Revision;
  readonly value: string;
  object?: KubeObject;
}

const parsed = new WeakMap<WriteOperation | StoredObject, KubeObject>();

/** The written object, the last state for a deletion. Parsed once for all rules: never change it. */
export const objectOf = ({ operation }: Commit): KubeObject => parsedOnce(operation);

/** What a cluster started on, parsed once for all clusters that start on it: never change it. */
export const storedObjectOf = (stored: StoredObject): KubeObject => parsedOnce(stored);

function parsedOnce(source: WriteOperation | StoredObject): KubeObject {
  const known = parsed.get(source);
  if (known !== undefined) return known;
  const object = JSON.parse(source.value) as KubeObject;
  parsed.set(source, object);
  return object;
}

/** A copy of the store's content: tests read it as often as needed without requests to the API. */
export class CommittedState {
  readonly #entries = new Map<string, Entry>();
  #version = 0;

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  apply({ revision, operation }: Commit): void {
    this.#version++;
    if (operation.kind === 'delete') this.#entries.delete(operation.key);
    else this.#entries.set(operation.key, { revision, value: operation.value });
  }

  /** Other data were put in place. */
  replace(objects: readonly StoredObject[]): void {
    this.#version++;
    this.#entries.clear();
    for (const { key, revision, value } of objects) this.#entries.set(key, { revision, value });
  }

  /** Signals another event to waiting code. */
  touch(): void {
    this.#version++;
  }

  list<T extends KubeObject>(resource: ResourceRef<T>): readonly T[] {
    const prefix = resourcePrefix(resource.group, resource.plural);
    const keys = [...this.#entries.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    return keys.map((key) => this.#objectAt(key) as T);
  }

  #objectAt(key: string): KubeObject | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.object ??= withRevision(JSON.parse(entry.value) as KubeObject, entry.revision);
    return entry.object;
  }
}

const withRevision = (object: KubeObject, revision: Revision): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});
