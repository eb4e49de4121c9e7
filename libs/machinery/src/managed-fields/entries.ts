import { type FieldSet, isEmptySet } from '../fieldpath/field-set.ts';
import { encodeFieldsV1, FieldsV1Error } from '../fieldpath/fields-v1.ts';
import { isJsonArray, isJsonObject, type Json, type JsonObject, type MutableJsonObject, ownValue } from '../json.ts';
import { fieldSetFrom, sharedFields } from './shared-fields.ts';

export type ManagerOperation = 'Apply' | 'Update';

/** The writer, the operation, the version and the subresource. */
export interface ManagerId {
  readonly manager: string;
  readonly operation: ManagerOperation;
  readonly apiVersion: string;
  readonly subresource: string;
}

export interface Ownership extends ManagerId {
  readonly fields: FieldSet;
  /** RFC 3339, whole seconds. */
  readonly time?: string;
  /** The entry that `fields` was decoded from. It is reused while the fields are the same. */
  readonly source?: { readonly fields: FieldSet; readonly json: Json };
}

/** By identifier, see identifierOf. */
export type Owners = ReadonlyMap<string, Ownership>;

export class ManagedFieldsError extends Error {
  override readonly name = 'ManagedFieldsError';
}

/** The identifier of an applier does not include its version; that of an updater does. */
export function identifierOf({ manager, operation, apiVersion, subresource }: ManagerId): string {
  const ofManager = manager === '' ? '' : `"manager":${JSON.stringify(manager)},`;
  const ofVersion = operation === 'Apply' ? '' : `,"apiVersion":${JSON.stringify(apiVersion)}`;
  const ofSubresource = subresource === '' ? '' : `,"subresource":${JSON.stringify(subresource)}`;
  return `{${ofManager}"operation":"${operation}"${ofVersion}${ofSubresource}}`;
}

/** Throws ManagedFieldsError. */
export function decodeManagedFields(value: Json | undefined): Owners {
  const owners = new Map<string, Ownership>();
  if (value === undefined || value === null) return owners;
  if (!isJsonArray(value)) throw new ManagedFieldsError('managedFields must be a list');
  for (let index = 0; index < value.length; index += 1) {
    const ownership = decodeEntry(value[index] ?? null, index);
    owners.set(identifierOf(ownership), ownership);
  }
  return owners;
}

function decodeEntry(entry: Json, index: number): Ownership {
  if (!isJsonObject(entry)) throw new ManagedFieldsError(`managed fields entry ${index} must be an object`);
  const operation = textAt(entry, 'operation');
  if (operation !== 'Apply' && operation !== 'Update') {
    throw new ManagedFieldsError('operation must be `Apply` or `Update`');
  }
  const apiVersion = textAt(entry, 'apiVersion');
  if (apiVersion === '') throw new ManagedFieldsError('apiVersion must not be empty');
  checkFieldsType(textAt(entry, 'fieldsType'), index);
  const json = ownValue(entry, 'fieldsV1') ?? {};
  const fields = decodeFields(json, index);
  const time = textAt(entry, 'time');
  return {
    manager: textAt(entry, 'manager'),
    operation,
    apiVersion,
    subresource: textAt(entry, 'subresource'),
    fields,
    source: { fields, json },
    ...(time === '' ? {} : { time }),
  };
}

const textAt = (entry: JsonObject, key: string): string => {
  const value = ownValue(entry, key);
  return typeof value === 'string' ? value : '';
};

function checkFieldsType(type: string, index: number): void {
  if (type === 'FieldsV1') return;
  throw new ManagedFieldsError(
    type === ''
      ? `missing fieldsType in managed fields entry ${index}`
      : `invalid fieldsType ${JSON.stringify(type)} in managed fields entry ${index}`,
  );
}

function decodeFields(json: Json, index: number): FieldSet {
  try {
    return fieldSetFrom(json);
  } catch (error) {
    if (!(error instanceof FieldsV1Error)) throw error;
    throw new ManagedFieldsError(`error decoding managed fields entry ${index}: ${error.message}`, { cause: error });
  }
}

/** Returns `undefined` without owners. Appliers come first, then by time, then by name. */
export function encodeManagedFields(owners: Owners): readonly JsonObject[] | undefined {
  const present: Ownership[] = [];
  for (const owner of owners.values()) if (!isEmptySet(owner.fields)) present.push(owner);
  if (present.length === 0) return undefined;
  return (present.length === 1 ? present : present.sort(compareOwners)).map(encodeEntry);
}

function compareOwners(a: Ownership, b: Ownership): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function encodeEntry(owner: Ownership): JsonObject {
  return entryOf(owner, owner.time, owner.source?.fields === owner.fields ? owner.source.json : encoded(owner.fields));
}

function encoded(fields: FieldSet): JsonObject {
  const value = encodeFieldsV1(fields);
  return sharedFields(JSON.stringify(value), value);
}

export function entryOf(owner: ManagerId, time: string | undefined, fieldsV1: Json): JsonObject {
  const entry: MutableJsonObject = {};
  if (owner.manager !== '') entry['manager'] = owner.manager;
  entry['operation'] = owner.operation;
  entry['apiVersion'] = owner.apiVersion;
  if (time !== undefined) entry['time'] = time;
  entry['fieldsType'] = 'FieldsV1';
  entry['fieldsV1'] = fieldsV1;
  if (owner.subresource !== '') entry['subresource'] = owner.subresource;
  return entry;
}
