import { copyJson } from './deep.ts';
import { isNumeric } from './exact-json.ts';
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  type MutableJsonObject,
  ownValue,
  setOwn,
} from './json.ts';
import { MAX_STRICT_ERRORS } from './limits.ts';
import type { FieldSchema, ListSchema, Schema, StructSchema } from './schema.ts';

/**
 * Custom resources: their types come from the structural OpenAPI schema of a CustomResourceDefinition. Unlike built-in
 * kinds they keep nulls and empty values. Validation reports wrong types, not decoding.
 */
export function schemaOfCustomResource(openApi: JsonObject, objectMeta: Schema): StructSchema {
  return structOf(openApi, 'custom.Resource', objectMeta, true);
}

const STRING: Schema = Object.freeze({ kind: 'scalar', scalar: 'string' });
const ANY: Schema = Object.freeze({ kind: 'any' });

function schemaOf(openApi: JsonObject, objectMeta: Schema): Schema {
  if (openApi['x-kubernetes-int-or-string'] === true) return { kind: 'scalar', scalar: 'intOrString' };
  const type = ownValue(openApi, 'type');
  switch (typeof type === 'string' ? type : '') {
    case 'object':
      return objectSchema(openApi, objectMeta);
    case 'array':
      return listOf(openApi, objectMeta);
    case 'string':
      return STRING;
    case 'boolean':
      return { kind: 'scalar', scalar: 'boolean' };
    case 'integer':
      return { kind: 'scalar', scalar: 'int64' };
    case 'number':
      return { kind: 'scalar', scalar: 'number' };
    default:
      return ANY;
  }
}

function objectSchema(openApi: JsonObject, objectMeta: Schema): Schema {
  const embedded = openApi['x-kubernetes-embedded-resource'] === true;
  const additional = ownValue(openApi, 'additionalProperties');
  const atomic = openApi['x-kubernetes-map-type'] === 'atomic';
  if (additional !== undefined && additional !== false && !embedded) {
    const values = isJsonObject(additional) ? schemaOf(additional, objectMeta) : ANY;
    return { kind: 'map', values: () => values, ...(atomic ? { atomic } : {}) };
  }
  return structOf(openApi, 'custom.Object', objectMeta, embedded);
}

function structOf(openApi: JsonObject, name: string, objectMeta: Schema, isResource: boolean): StructSchema {
  const fields: Record<string, FieldSchema> = {};
  const declared = ownValue(openApi, 'properties');
  for (const [key, property] of Object.entries(isJsonObject(declared) ? declared : {})) {
    if (isJsonObject(property)) defineField(fields, key, fieldOf(property, objectMeta));
  }
  if (isResource) {
    defineField(fields, 'apiVersion', { type: () => STRING, unset: 'absent' });
    defineField(fields, 'kind', { type: () => STRING, unset: 'absent' });
    defineField(fields, 'metadata', { type: () => objectMeta, unset: 'absent' });
  }
  return {
    kind: 'struct',
    name,
    fields,
    ...(openApi['x-kubernetes-map-type'] === 'atomic' ? { atomic: true } : {}),
    ...(openApi['x-kubernetes-preserve-unknown-fields'] === true ? { preserveUnknown: true } : {}),
  };
}

/** A property may be named `__proto__`. */
function defineField(fields: Record<string, FieldSchema>, key: string, field: FieldSchema): void {
  Object.defineProperty(fields, key, { value: field, enumerable: true, configurable: true, writable: true });
}

function fieldOf(property: JsonObject, objectMeta: Schema): FieldSchema {
  const type = schemaOf(property, objectMeta);
  const value = ownValue(property, 'default');
  const isScalar = typeof value === 'string' || isNumeric(value) || typeof value === 'boolean';
  return { type: () => type, unset: 'absent', ...(isScalar ? { default: value } : {}) };
}

function listOf(openApi: JsonObject, objectMeta: Schema): ListSchema {
  const declared = ownValue(openApi, 'items');
  const items = isJsonObject(declared) ? schemaOf(declared, objectMeta) : ANY;
  const type = openApi['x-kubernetes-list-type'];
  const keys = ownValue(openApi, 'x-kubernetes-list-map-keys');
  return {
    kind: 'list',
    items: () => items,
    listType: type === 'set' || type === 'map' ? type : 'atomic',
    ...(isJsonArray(keys) ? { mapKeys: keys.filter((key) => typeof key === 'string') } : {}),
  };
}

export interface Pruned {
  /** The input itself when nothing was dropped. */
  readonly value: JsonObject;
  /** `unknown field "spec.foo"`, in document order. */
  readonly unknownFields: readonly string[];
}

/** Drops exactly the fields that the schema does not declare. */
export function pruneCustomResource(value: JsonObject, schema: StructSchema): Pruned {
  const unknownFields: string[] = [];
  const report = (path: string): void => {
    if (unknownFields.length < MAX_STRICT_ERRORS) unknownFields.push(`unknown field "${path}"`);
  };
  const pruned = prune(value, schema, { path: '', report });
  return { value: isJsonObject(pruned) ? pruned : value, unknownFields };
}

interface Place {
  readonly path: string;
  readonly report: (path: string) => void;
}

const below = (place: Place, key: string): Place => ({
  ...place,
  path: place.path === '' ? key : `${place.path}.${key}`,
});

function prune(value: Json, schema: Schema, place: Place): Json {
  if (isJsonArray(value)) return schema.kind === 'list' ? pruneItems(value, schema.items(), place) : value;
  if (!isJsonObject(value)) return value;
  if (schema.kind === 'map') return pruneKeys(value, place, () => schema.values());
  if (schema.kind !== 'struct') return value;
  const { fields, preserveUnknown = false } = schema;
  return pruneKeys(value, place, (key) =>
    Object.hasOwn(fields, key) ? fields[key]?.type() : preserveUnknown ? ANY : undefined,
  );
}

function pruneItems(items: readonly Json[], schema: Schema, place: Place): readonly Json[] {
  const pruned = items.map((item, index) => prune(item, schema, { ...place, path: `${place.path}[${index}]` }));
  return pruned.every((item, index) => item === items[index]) ? items : pruned;
}

/** Drops keys without a schema. */
function pruneKeys(object: JsonObject, place: Place, schemaOfKey: (key: string) => Schema | undefined): JsonObject {
  let copy: MutableJsonObject | undefined;
  for (const [key, child] of Object.entries(object)) {
    const schema = schemaOfKey(key);
    const at = below(place, key);
    if (schema === undefined) {
      at.report(at.path);
      copy ??= { ...object };
      delete copy[key];
      continue;
    }
    const pruned = prune(child, schema, at);
    if (pruned === child) continue;
    copy ??= { ...object };
    setOwn(copy, key, pruned);
  }
  return copy ?? object;
}

/**
 * Fills in `default`s, also in place of a null that the schema does not allow. Returns the input itself when nothing
 * was missing.
 */
export function defaultCustomResource(value: JsonObject, openApi: JsonObject): JsonObject {
  const filled = fill(value, openApi);
  return isJsonObject(filled) ? filled : value;
}

function fill(value: Json, openApi: JsonObject): Json {
  if (isJsonArray(value)) {
    const items = ownValue(openApi, 'items');
    if (!isJsonObject(items)) return value;
    const filled = value.map((item) => fill(item, items));
    return filled.every((item, index) => item === value[index]) ? value : filled;
  }
  if (!isJsonObject(value)) return value;
  const additional = ownValue(openApi, 'additionalProperties');
  return isJsonObject(additional) ? fillValues(value, additional) : fillProperties(value, openApi);
}

function fillValues(object: JsonObject, openApi: JsonObject): JsonObject {
  let copy: MutableJsonObject | undefined;
  for (const [key, child] of Object.entries(object)) {
    const filled = fill(child, openApi);
    if (filled === child) continue;
    copy ??= { ...object };
    setOwn(copy, key, filled);
  }
  return copy ?? object;
}

function fillProperties(object: JsonObject, openApi: JsonObject): JsonObject {
  const properties = ownValue(openApi, 'properties');
  if (!isJsonObject(properties)) return object;
  let copy: MutableJsonObject | undefined;
  for (const [key, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    const before = ownValue(object, key);
    const after = filledProperty(before, property);
    if (after === before) continue;
    copy ??= { ...object };
    if (after === undefined) delete copy[key];
    else setOwn(copy, key, after);
  }
  return copy ?? object;
}

function filledProperty(before: Json | undefined, property: JsonObject): Json | undefined {
  const missing = before === undefined || (before === null && property['nullable'] !== true);
  const standard = ownValue(property, 'default');
  const value = missing && standard !== undefined ? copyJson(standard) : before;
  return value === undefined ? undefined : fill(value, property);
}
