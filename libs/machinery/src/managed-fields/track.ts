import { deepEqual } from '../deep.ts';
import { fieldElement } from '../fieldpath/element.ts';
import { type FieldSet, hasMember } from '../fieldpath/field-set.ts';
import {
  isEmptyObject,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  type MutableJsonObject,
  ownValue,
  setOwn,
} from '../json.ts';
import type { StructSchema } from '../schema.ts';
import { compareTyped, excludeFields, isSame } from '../typed/compare.ts';
import { sharedUnsetObject } from '../typed/unset.ts';
import {
  decodeManagedFields,
  encodeManagedFields,
  entryOf,
  ManagedFieldsError,
  type ManagerId,
  type Owners,
} from './entries.ts';
import { fieldsOfNewObject, type KnownFields } from './new-object.ts';
import { capUpdateManagers, ownersAfterUpdate } from './owners.ts';
import { sharedFields } from './shared-fields.ts';

export interface WriterIdentity {
  /** `fieldManager`, or the client's user agent up to its first slash. */
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  /** RFC 3339, whole seconds. Absent when the entry has no time, as after a change through `scale`. */
  readonly time?: string | undefined;
}

export interface UpdateToTrack extends WriterIdentity {
  /** Absent on create. */
  readonly live: JsonObject | undefined;
  /** After defaulting, but before admission and the strategy change it. */
  readonly updated: JsonObject;
  readonly schema: StructSchema;
  /** For a new object: cached fields of some of its members. */
  readonly known?: KnownFields | undefined;
  /** Fields that this endpoint resets (`status` on the main resource), so that nobody can own them through it. */
  readonly resetFields?: FieldSet;
}

const NOBODY: Owners = new Map();
const UNKNOWN_MANAGER = 'unknown';

/** Returns `updated` with its managedFields after this create, update or patch. */
export function trackUpdate(input: UpdateToTrack): JsonObject {
  const { live, updated, schema } = input;
  if (live === undefined && managedFieldsOf(updated) === undefined)
    return withManagedFields(updated, firstOwner(input));
  const stored = live === undefined ? undefined : managedFieldsOf(live);
  const keepsStored = live !== undefined && leavesOwnersAlone(input, stored);
  // An untracked object stays untracked until someone applies.
  if (keepsStored && !isOwned(stored)) return withManagedFields(updated, undefined);
  const { resetFields } = input;
  // Shared entries are equal, so removing them before the comparison is unnecessary.
  const isShared = live !== undefined && managedFieldsOf(updated) === stored;
  const before = live === undefined ? sharedUnsetObject(schema) : isShared ? live : untracked(live);
  const after = isShared ? updated : untracked(updated);
  const compared = compareTyped(withoutFields(before, resetFields), withoutFields(after, resetFields), schema);
  const change = excludeFields(compared, resetFields);
  if (keepsStored && isSame(change) && isJsonArray(stored)) return withManagedFields(updated, stored);
  const owners = ownersBefore(input);
  if (owners.size === 0 && live !== undefined) return withManagedFields(updated, undefined);
  const left = isSame(change) ? owners : ownersAfterUpdate(owners, updaterId(input), change, input.time);
  return withManagedFields(updated, encodeManagedFields(capUpdateManagers(left)));
}

/** The creator owns everything in a new object that names no owners. */
function firstOwner(input: UpdateToTrack): readonly Json[] | undefined {
  const { updated, schema, resetFields, known } = input;
  const text = fieldsOfNewObject(updated, { schema, reset: resetFields, known });
  return text === undefined ? undefined : [entryOf(updaterId(input), input.time, sharedFields(text))];
}

/** Removes whole members that nobody can own, so that they need no comparison. */
function withoutFields(object: JsonObject, fields: FieldSet | undefined): JsonObject {
  if (fields === undefined) return object;
  const rest: MutableJsonObject = {};
  for (const key in object) if (!hasMember(fields, fieldElement(key))) setOwn(rest, key, object[key] ?? null);
  return rest;
}

/** The common case, in which no entry needs decoding: the request leaves managedFields unchanged. */
function leavesOwnersAlone({ updated, subresource = '' }: UpdateToTrack, stored: Json | undefined): boolean {
  if (subresource !== '') return true;
  const sent = managedFieldsOf(updated);
  return !isOwned(sent) || sent === stored || deepEqual(sent, stored);
}

const isOwned = (entries: Json | undefined): boolean => isJsonArray(entries) && entries.length > 0;

export function updaterId({ manager, apiVersion, subresource = '' }: WriterIdentity): ManagerId {
  return { manager: manager === '' ? UNKNOWN_MANAGER : manager, operation: 'Update', apiVersion, subresource };
}

/** A request may write managedFields itself. But it cannot lose them by omitting them. */
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
    // An unreadable stored entry has no owner to keep.
    if (error instanceof ManagedFieldsError) return NOBODY;
    throw error;
  }
}

/** A client removes all owners by sending one empty entry. */
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
  if (entries === ownValue(metadata, 'managedFields')) return object;
  if (entries !== undefined) return { ...object, metadata: { ...metadata, managedFields: entries } };
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}
