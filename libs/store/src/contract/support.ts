import { strict as assert } from 'node:assert';
import { sizeOfChange, sizeOfState } from '../internal/change-size.ts';
import type {
  Change,
  Revision,
  Store,
  StoreKey,
  StoreLimits,
  StoreUsage,
  WriteOperation,
  WriteResult,
} from '../port.ts';

export interface OpenStore {
  readonly store: Store;
  readonly close: () => Promise<void>;
}

/** Returns a fresh, empty store; `close` releases its resources. */
export type CreateStore = (options?: { readonly limits?: StoreLimits }) => Promise<OpenStore>;

export async function withStore(
  createStore: CreateStore,
  body: (store: Store) => Promise<void>,
  limits?: StoreLimits,
): Promise<void> {
  const { store, close } = await createStore(limits === undefined ? {} : { limits });
  try {
    await body(store);
  } finally {
    await close();
  }
}

export function pod(name: string, namespace = 'default'): StoreKey {
  return `core/pods/${namespace}/${name}`;
}

export function create(key: StoreKey, value = '{}'): WriteOperation {
  return { kind: 'create', key, value };
}

export function update(key: StoreKey, expectedRevision: Revision, value = '{}'): WriteOperation {
  return { kind: 'update', key, value, expectedRevision };
}

export function remove(key: StoreKey, expectedRevision: Revision, value = '{}'): WriteOperation {
  return { kind: 'delete', key, value, expectedRevision };
}

/** Writes one operation that must succeed. Resolves with its revision. */
export async function put(store: Store, operation: WriteOperation): Promise<Revision> {
  return committedAt(await store.write([operation]));
}

export function committedAt(result: WriteResult): Revision {
  assert.equal(result.outcome, 'committed', JSON.stringify(result));
  return result.outcome === 'committed' ? result.lastRevision : 0;
}

/** Follows from `after` until the change of revision `upTo` arrives. Resolves with all changes. */
export async function changesUpTo(store: Store, after: Revision, upTo: Revision): Promise<Change[]> {
  const abort = new AbortController();
  const seen: Change[] = [];
  if (upTo <= after) return seen;
  for await (const batch of store.changes({ after, signal: abort.signal })) {
    assert.ok(batch.length > 0, 'a batch of changes is never empty');
    seen.push(...batch);
    if ((seen.at(-1)?.revision ?? 0) >= upTo) abort.abort();
  }
  return seen;
}

/** Returns the expected usage, counted again from the store's pods and history. */
export async function recount(store: Store): Promise<Pick<StoreUsage, 'objectBytes' | 'historyBytes'>> {
  const { objects, revision } = await store.list('core/pods/');
  const changes = await changesUpTo(store, await store.compactedRevision(), revision);
  return {
    objectBytes: objects.reduce((sum, { key, value }) => sum + sizeOfState(key, value), 0),
    historyBytes: changes.reduce((sum, change) => sum + sizeOfChange(change), 0),
  };
}

/** The revisions `from`, from + 1, ..., `to`. */
export function revisions(from: Revision, to: Revision): Revision[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/**
 * Fills an empty store with the state of another one at a revision, as a backup does: the same revisions and write ids.
 */
export async function copyUpTo(source: Store, revision: Revision, target: Store): Promise<void> {
  const changes = (await changesUpTo(source, 0, revision)).filter((change) => change.revision <= revision);
  for (let at = 0; at < changes.length; ) {
    const { writeId } = changes[at] ?? {};
    const others = changes.findIndex((change, index) => index > at && change.writeId !== writeId);
    const end = others < 0 ? changes.length : others;
    const operations = changes.slice(at, end).map(operationOf);
    committedAt(await target.write(operations, writeId === undefined ? {} : { writeId }));
    at = end;
  }
  assert.equal(await target.currentRevision(), revision);
}

function operationOf({ kind, key, value, previousRevision }: Change): WriteOperation {
  switch (kind) {
    case 'created':
      return create(key, value);
    case 'updated':
      return update(key, previousRevision, value);
    case 'deleted':
      return remove(key, previousRevision, value);
  }
}
