import { isTerminating, type KubeObject, type ResourceDefinition } from '@holdfast/api';
import { alreadyExists, badRequest, conflict, MODIFIED_CONCURRENTLY, notFound, StatusError } from '@holdfast/machinery';
import type { StoreKey, WriteOperation } from '@holdfast/store';
import type { WriteCompanion } from '../admission/port.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { WrittenState } from '../cache/watch-cache.ts';
import type { Core } from '../core.ts';
import { convertAhead, finalState, toStored } from '../kinds/conversion.ts';
import { OBJECT_BYTES_MAX, WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { subjectOf } from '../objects/object-keys.ts';
import { asServed, isShownAsStored } from '../objects/stored-object.ts';

/** The result of one compare-and-swap. `lost`: another writer was faster. */
export type SwapResult = { readonly outcome: 'done'; readonly object: CachedObject } | { readonly outcome: 'lost' };

export interface Creation {
  readonly key: StoreKey;
  readonly object: KubeObject;
  readonly companion: WriteCompanion | undefined;
}

export function createStored(
  core: Core,
  definition: ResourceDefinition,
  { key, object, companion }: Creation,
): Promise<SwapResult> {
  return write(core, { definition, object, old: undefined, companion }, (value) => ({ kind: 'create', key, value }));
}

/** The current and the new object, both as the kind is served. */
export interface Swap {
  readonly old: CachedObject;
  readonly object: KubeObject;
  /** The stored text of `object`, if it is composed already. */
  readonly text?: string;
  readonly companion?: WriteCompanion | undefined;
}

export function updateStored(core: Core, definition: ResourceDefinition, swap: Swap): Promise<SwapResult> {
  const { key, revision } = swap.old;
  const { object, text, old, companion } = swap;
  const change = { definition, object, text, old: old.object, companion };
  return write(core, change, (value) => ({ kind: 'update', key, value, expectedRevision: revision }));
}

/** Removes the object; the change carries `object` as its final state. */
export async function deleteStored(core: Core, definition: ResourceDefinition, swap: Swap): Promise<SwapResult> {
  const { key, revision } = swap.old;
  const release = core.services.allocate({ definition, object: undefined, old: swap.old.object, avoid: new Set() });
  const { operations } = release instanceof Promise ? await release : release;
  const stored = finalState(definition, swap.object);
  const value = stored === swap.object && swap.text !== undefined ? swap.text : encodeStored(stored);
  const result = await core.store.write([{ kind: 'delete', key, value, expectedRevision: revision }, ...operations]);
  if (result.outcome !== 'committed') return { outcome: 'lost' };
  return done(core, definition, { key, value, revision: result.firstRevision, written: stored });
}

interface StoredChange {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
  readonly text?: string | undefined;
  readonly old: KubeObject | undefined;
  readonly companion: WriteCompanion | undefined;
}

/** The object and what it is given go into the store together, or not at all. */
async function write(
  core: Core,
  { definition, object, text, old, companion }: StoredChange,
  operationFor: (value: string) => WriteOperation,
): Promise<SwapResult> {
  const avoid = new Set<StoreKey>();
  // A terminating object must lose its finalizers even when the store is full.
  const options = old !== undefined && isTerminating(old) ? RELEASING : undefined;
  for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt++) {
    const asked = core.services.allocate({ definition, object, old, avoid });
    const allocation = asked instanceof Promise ? await asked : asked;
    const storing = toStored(core, definition, allocation.object);
    const stored = storing instanceof Promise ? await storing : storing;
    const value = bounded(stored === object && text !== undefined ? text : encodeStored(stored));
    const operation = operationFor(value);
    const operations = allocation.operations.length === 0 ? [operation] : [operation, ...allocation.operations];
    const result = await (companion === undefined
      ? core.store.write(operations, options)
      : companion.write((more) => core.store.write([...operations, ...more], options), operations.length));
    if (result.outcome === 'committed') {
      return done(
        core,
        definition,
        { key: operation.key, value, revision: result.firstRevision, written: stored },
        stored === allocation.object,
      );
    }
    if (result.index === 0) return { outcome: 'lost' };
    allocation.lost(result.index - 1);
  }
  throw conflict(subjectOf(definition, object.metadata.name ?? ''), MODIFIED_CONCURRENTLY);
}

const RELEASING = { room: 'releasing' } as const;

function done(
  core: Core,
  definition: ResourceDefinition,
  state: WrittenState,
  isWhole = false,
): SwapResult | Promise<SwapResult> {
  const written = core.cache.stateAfter(state);
  if (isWhole) isShownAsStored(definition, written);
  const converting = convertAhead(core, definition, [written]);
  const result = (): SwapResult => ({ outcome: 'done', object: asServed(definition, written) });
  return converting === undefined ? result() : converting.then(result);
}

function bounded(value: string): string {
  // No unit of a text takes more than three bytes, so most texts need not be counted.
  if (value.length * 3 <= OBJECT_BYTES_MAX) return value;
  const bytes = Buffer.byteLength(value);
  if (bytes <= OBJECT_BYTES_MAX) return value;
  throw new StatusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: the stored object would have ${bytes} bytes, limit is ${OBJECT_BYTES_MAX}`,
  });
}

export const missing = (definition: ResourceDefinition, name: string): StatusError =>
  notFound(subjectOf(definition, name));
export const existing = (definition: ResourceDefinition, name: string): StatusError =>
  alreadyExists(subjectOf(definition, name));
export const modified = (definition: ResourceDefinition, name: string): StatusError =>
  conflict(subjectOf(definition, name), MODIFIED_CONCURRENTLY);

/** The words of the store of Kubernetes, which clients know. */
export const mismatch = (
  path: string,
  field: 'UID' | 'ResourceVersion',
  { wanted, found }: { readonly wanted: string; readonly found: string },
): string =>
  `StorageError: invalid object, Code: 4, Key: ${path}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${found}`;

/** For an object without a name. */
export const nameless = (name: string): StatusError =>
  badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
