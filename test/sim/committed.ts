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
  readonly source: WriteOperation | StoredObject;
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
  /** What was listed since the last change of a kind, by the prefix of its keys. */
  readonly #lists = new Map<string, readonly KubeObject[]>();
  #version = 0;

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  apply({ revision, operation }: Commit): void {
    this.#version++;
    this.#lists.delete(prefixOf(operation.key));
    if (operation.kind === 'delete') this.#entries.delete(operation.key);
    else this.#entries.set(operation.key, { revision, source: operation });
  }

  /** Other data were put in place. */
  replace(objects: readonly StoredObject[]): void {
    this.#version++;
    this.#lists.clear();
    this.#entries.clear();
    for (const stored of objects) this.#entries.set(stored.key, { revision: stored.revision, source: stored });
  }

  /** Signals another event to waiting code. */
  touch(): void {
    this.#version++;
  }

  list<T extends KubeObject>(resource: ResourceRef<T>): readonly T[] {
    const prefix = resourcePrefix(resource.group, resource.plural);
    const known = this.#lists.get(prefix) ?? this.#listed(prefix);
    this.#lists.set(prefix, known);
    return known as readonly T[];
  }

  #listed(prefix: string): readonly KubeObject[] {
    const entries = [...this.#entries].filter(([key]) => key.startsWith(prefix));
    return entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => objectIn(entry));
  }
}

/** A key begins with the prefix of its resource. */
const prefixOf = (key: string): string => key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1);

const objectIn = (entry: Entry): KubeObject =>
  (entry.object ??= withRevision(parsedOnce(entry.source), entry.revision));

const withRevision = (object: KubeObject, revision: Revision): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});
