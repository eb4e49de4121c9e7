import { isTerminating, type KubeObject, type ResourceDefinition } from '@holdfast/api';
import { alreadyExists, badRequest, conflict, MODIFIED_CONCURRENTLY, notFound, StatusError } from '@holdfast/machinery';
import type { StoreKey, WriteOperation, WriteResult } from '@holdfast/store';
import type { WriteCompanion } from '../admission/port.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { WrittenState } from '../cache/watch-cache.ts';
import type { Core } from '../core.ts';
import { convertAhead, finalState, toStored } from '../kinds/conversion.ts';
import { OBJECT_BYTES_MAX } from '../limits.ts';
import { subjectOf } from '../objects/object-keys.ts';
import { asServed, isShownAsStored } from '../objects/stored-object.ts';
import { releaseAll, type StoreObject, writeAccompanied } from './companions.ts';
import { noteFate, type SentWrite } from './sent-write.ts';

/** The result of one compare-and-swap. `lost`: another writer was faster. */
export type SwapResult = { readonly outcome: 'done'; readonly object: CachedObject } | { readonly outcome: 'lost' };

export interface Creation {
  readonly key: StoreKey;
  readonly object: KubeObject;
  readonly companions: readonly WriteCompanion[];
}

export function createStored(
  core: Core,
  definition: ResourceDefinition,
  { key, object, companions }: Creation,
): Promise<SwapResult> {
  return write(core, { definition, object, old: undefined, companions }, (value) => ({ kind: 'create', key, value }));
}

/** The current and the new object, both as the kind is served. */
export interface Swap {
  readonly old: CachedObject;
  readonly object: KubeObject;
  /** The stored text of `object`, if it is composed already. */
  readonly text?: string;
  /** Default: none. */
  readonly companions?: readonly WriteCompanion[];
  /** Told what becomes of the write. */
  readonly sent?: SentWrite;
}

export function updateStored(core: Core, definition: ResourceDefinition, swap: Swap): Promise<SwapResult> {
  const { key, revision } = swap.old;
  const { object, text, old, sent, companions = NO_COMPANIONS } = swap;
  const change = { definition, object, text, old: old.object, companions, sent };
  return write(core, change, (value) => ({ kind: 'update', key, value, expectedRevision: revision }));
}

const NO_COMPANIONS: readonly WriteCompanion[] = [];

/** Removes the object; the change carries `object` as its final state. */
export async function deleteStored(core: Core, definition: ResourceDefinition, swap: Swap): Promise<SwapResult> {
  const { key, revision } = swap.old;
  const { sent, companions = NO_COMPANIONS } = swap;
  const released = companions.length === 0 ? [] : await releaseAll(companions);
  const stored = finalState(definition, swap.object);
  const value = stored === swap.object && swap.text !== undefined ? swap.text : encodeStored(stored);
  const removal = { kind: 'delete', key, value, expectedRevision: revision } as const;
  const result = await noteFate(sent, () => core.store.write([removal, ...released]));
  if (result.outcome !== 'committed') return { outcome: 'lost' };
  return done(core, definition, { key, value, revision: result.firstRevision, written: stored });
}

interface StoredChange {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
  readonly text?: string | undefined;
  readonly old: KubeObject | undefined;
  readonly companions: readonly WriteCompanion[];
  readonly sent?: SentWrite | undefined;
}

/** The object and what its companions write go into the store together, or not at all. */
async function write(
  core: Core,
  change: StoredChange,
  operationFor: (value: string) => WriteOperation,
): Promise<SwapResult> {
  const { definition, object, old, companions, sent } = change;
  // A terminating object must lose its finalizers even when the store is full.
  const options = old !== undefined && isTerminating(old) ? RELEASING : undefined;
  const encoding = encode(core, change, object);
  let latest = encoding instanceof Promise ? await encoding : encoding;
  const send = (accompanying: readonly WriteOperation[]): Promise<WriteResult> =>
    noteFate(sent, () => core.store.write([operationFor(latest.value), ...accompanying], options));
  const store: StoreObject = async (completed, accompanying) => {
    if (latest.object !== completed) latest = await encode(core, change, completed);
    return send(accompanying);
  };
  const result = await (companions.length === 0 ? send([]) : writeAccompanied(companions, object, store));
  if (result.outcome === 'committed') {
    const { value, stored } = latest;
    const state = { key: operationFor(value).key, value, revision: result.firstRevision, written: stored };
    return done(core, definition, state, stored === latest.object);
  }
  if (result.index === 0) return { outcome: 'lost' };
  throw conflict(subjectOf(definition, object.metadata.name ?? ''), MODIFIED_CONCURRENTLY);
}

interface Encoded {
  /** As the kind is served. */
  readonly object: KubeObject;
  /** As it goes into the store, and its text. */
  readonly stored: KubeObject;
  readonly value: string;
}

function encode(core: Core, change: StoredChange, object: KubeObject): Encoded | Promise<Encoded> {
  const text = object === change.object ? change.text : undefined;
  const encoded = (stored: KubeObject): Encoded => ({
    object,
    stored,
    value: bounded(stored === object && text !== undefined ? text : encodeStored(stored)),
  });
  const storing = toStored(core, change.definition, object);
  return storing instanceof Promise ? storing.then(encoded) : encoded(storing);
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
