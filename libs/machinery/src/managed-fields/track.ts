import { deepEqual } from '../deep.ts';
import { type FieldSet, isEmptySet, unionOf } from '../fieldpath/field-set.ts';
import { isEmptyObject, isJsonArray, isJsonObject, type Json, type JsonObject, ownValue } from '../json.ts';
import type { StructSchema } from '../schema.ts';
import { type Comparison, compareTyped, excludeFields, isSame } from '../typed/compare.ts';
import { sharedUnsetObject } from '../typed/unset.ts';
import {
  decodeManagedFields,
  encodeEntry,
  encodeManagedFields,
  ManagedFieldsError,
  type ManagerId,
  type Owners,
} from './entries.ts';
import { capUpdateManagers, ownersAfterUpdate, withoutServerFields } from './owners.ts';

export interface WriterIdentity {
  /** `fieldManager`, or what the client's user agent says before its first slash. */
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  /** RFC 3339, whole seconds. Absent: the entry carries none, as that of a change through `scale`. */
  readonly time?: string | undefined;
}

export interface UpdateToTrack extends WriterIdentity {
  /** Absent at create. */
  readonly live: JsonObject | undefined;
  /** After defaulting, before admission and the strategy change it. */
  readonly updated: JsonObject;
  readonly schema: StructSchema;
  /** What this endpoint resets and nobody can therefore own through it (`status`, at the main resource). */
  readonly resetFields?: FieldSet;
}

const NOBODY: Owners = new Map();
const UNKNOWN_MANAGER = 'unknown';

/** `updated` with the managedFields that it has after this create, update or patch. */
export function trackUpdate(input: UpdateToTrack): JsonObject {
  const { live, updated, schema } = input;
  const stored = live === undefined ? undefined : managedFieldsOf(live);
  const keepsStored = live !== undefined && leavesOwnersAlone(input, stored);
  // An object that nobody tracks stays untracked until someone applies.
  if (keepsStored && !isOwned(stored)) return withManagedFields(updated, undefined);
  const before = live === undefined ? sharedUnsetObject(schema) : untracked(live);
  const change = excludeFields(compareTyped(before, untracked(updated), schema), input.resetFields);
  if (keepsStored && isSame(change) && isJsonArray(stored)) return withManagedFields(updated, stored);
  const sent = managedFieldsOf(updated);
  if (live === undefined && sent === undefined) return withManagedFields(updated, firstOwner(input, change));
  const owners = ownersBefore(input);
  if (owners.size === 0 && live !== undefined) return withManagedFields(updated, undefined);
  const after = isSame(change) ? owners : ownersAfterUpdate(owners, updaterId(input), change, input.time);
  return withManagedFields(updated, encodeManagedFields(capUpdateManagers(after)));
}

/** Of a new object that names no owners everything belongs to whoever makes it. */
function firstOwner(input: UpdateToTrack, change: Comparison): readonly Json[] | undefined {
  const fields = withoutServerFields(unionOf(change.modified, change.added));
  if (isEmptySet(fields)) return undefined;
  const { time } = input;
  return [encodeEntry({ ...updaterId(input), ...(time === undefined ? {} : { time }), fields })];
}

/** The common case, which needs no look into the entries: the request says nothing new about them. */
function leavesOwnersAlone({ updated, subresource = '' }: UpdateToTrack, stored: Json | undefined): boolean {
  if (subresource !== '') return true;
  const sent = managedFieldsOf(updated);
  return !isOwned(sent) || sent === stored || deepEqual(sent, stored);
}

const isOwned = (entries: Json | undefined): boolean => isJsonArray(entries) && entries.length > 0;

export function updaterId({ manager, apiVersion, subresource = '' }: WriterIdentity): ManagerId {
  return { manager: manager === '' ? UNKNOWN_MANAGER : manager, operation: 'Update', apiVersion, subresource };
}

/** The request may write managedFields itself; what it cannot do is lose them by not knowing them. */
function ownersBefore({ live, updated, subresource = '' }: UpdateToTrack): Owners {
  const current = (): Owners => (live === undefined ? NOBODY : decodedOrNobody(managedFieldsOf(live)));
  if (subresource !== '') return current();
  const sent = managedFieldsOf(updated);
  if (isReset(sent)) return NOBODY;
  try {
    const owners = decodeManagedFields(sent);
    return owners.size === 0 ? current() : owners;
  } catch (error) {
    if (error instanceof ManagedFieldsError) return current();
    throw error;
  }
}

function decodedOrNobody(value: Json | undefined): Owners {
  try {
    return decodeManagedFields(value);
  } catch (error) {
    // A stored entry that cannot be read has no owner that could be kept.
    if (error instanceof ManagedFieldsError) return NOBODY;
    throw error;
  }
}

/** A client forgets all owners by sending one empty entry. */
function isReset(value: Json | undefined): boolean {
  if (!isJsonArray(value) || value.length !== 1) return false;
  const [only] = value;
  return isJsonObject(only) && isEmptyObject(only);
}

export function managedFieldsOf(object: JsonObject): Json | undefined {
  const metadata = ownValue(object, 'metadata');
  return isJsonObject(metadata) ? ownValue(metadata, 'managedFields') : undefined;
}

export const untracked = (object: JsonObject): JsonObject => withManagedFields(object, undefined);

export function withManagedFields(object: JsonObject, entries: readonly Json[] | undefined): JsonObject {
  const metadata = ownValue(object, 'metadata');
  if (!isJsonObject(metadata))
    return entries === undefined ? object : { ...object, metadata: { managedFields: entries } };
  if (entries === undefined && !Object.hasOwn(metadata, 'managedFields')) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: entries === undefined ? rest : { ...rest, managedFields: entries } };
}
