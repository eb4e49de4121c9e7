import { deepEqual } from '../deep.ts';
import { fieldElement, type PathElement } from '../fieldpath/element.ts';
import { type FieldSet, hasMember, sortedElements, sortedTexts } from '../fieldpath/field-set.ts';
import { isEmptyObject, type Json, type JsonObject, ownValue } from '../json.ts';
import type { ListSchema, Schema, StructSchema } from '../schema.ts';
import { fieldSchema, itemsByElement, listOf, listSchema, type Maybe, objectOf, treatmentOf } from '../typed/shape.ts';
import { sharedUnsetObject } from '../typed/unset.ts';

/** Metadata fields that the server maintains for every object: nobody owns them. */
const SERVER_METADATA: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
]);

/** Fields of an object's members (`spec`), as `fieldsOfMember` returned them for an object with equal members. */
export type KnownFields = Readonly<Record<string, string>>;

export interface NewObjectRules {
  readonly schema: StructSchema;
  /** Members that nobody can own. */
  readonly reset: FieldSet | undefined;
  readonly known?: KnownFields | undefined;
}

/**
 * Returns the fields that the creator of an object owns, as FieldsV1 text: all fields of the object, compared with an
 * object without any set field. One pass composes the text, without the sets that an update needs. `undefined` when
 * there are none.
 */
export function fieldsOfNewObject(object: JsonObject, rules: NewObjectRules): string | undefined {
  const { schema, reset, known } = rules;
  const level: string[] = [];
  for (const key of sortedKeys(object)) {
    if (key === 'apiVersion' || key === 'kind' || (reset !== undefined && hasMember(reset, fieldElement(key))))
      continue;
    const text = known !== undefined && Object.hasOwn(known, key) ? known[key] : fieldsOfMember(object, key, schema);
    if (text !== undefined) level.push(member(key, text));
  }
  return nodeText(false, level);
}

/** The same for one member of the object. */
export function fieldsOfMember(object: JsonObject, key: string, schema: StructSchema): string | undefined {
  const before = ownValue(sharedUnsetObject(schema), key);
  const after = object[key] ?? null;
  const type = fieldSchema(schema, key);
  return key === 'metadata' ? metadataText(before, after, type) : changedText(before, after, type);
}

function metadataText(before: Maybe, after: Json, schema: Schema): string | undefined {
  const left = objectOf(before);
  const right = objectOf(after);
  const level: string[] = [];
  for (const key of right === undefined ? [] : sortedKeys(right)) {
    if (SERVER_METADATA.has(key)) continue;
    const text = changedText(own(left, key), right?.[key] ?? null, fieldSchema(schema, key));
    if (text !== undefined) level.push(member(key, text));
  }
  return nodeText(false, level);
}

/** Returns `undefined` when nothing was set. */
function changedText(before: Maybe, after: Json, schema: Schema): string | undefined {
  if (before === undefined) return presentText(after, schema);
  if (before === after) return undefined;
  const treatment = treatmentOf(schema, after);
  switch (treatment) {
    case 'leaf':
      return deepEqual(before, after) ? undefined : LEAF;
    case 'fields':
      return changedKeys(before, after, schema);
    case 'items':
      return changedItems(before, after, schema);
  }
}

function changedKeys(before: Json, after: Json, schema: Schema): string | undefined {
  const left = objectOf(before);
  const right = objectOf(after);
  if (right === undefined || isEmptyObject(right)) {
    return left === undefined || isEmptyObject(left) ? changedLeaf(before, after) : undefined;
  }
  const level: string[] = [];
  for (const key of sortedKeys(right)) {
    const type = fieldSchema(schema, key);
    const text = changedText(own(left, key), right[key] ?? null, type);
    if (text !== undefined) level.push(member(key, text));
  }
  // Data without a schema that was a scalar before counts as changed itself, too.
  return nodeText(schema.kind === 'any' && treatmentOf(schema, before) === 'leaf', level);
}

/** An unset value has no items. */
function changedItems(before: Json, after: Json, schema: Schema): string | undefined {
  const items = listOf(after) ?? [];
  return items.length === 0 ? changedLeaf(before, after) : nodeText(false, itemTexts(items, listSchema(schema)));
}

const changedLeaf = (before: Json, after: Json): string | undefined => (deepEqual(before, after) ? undefined : LEAF);

/** Returns all fields of a value that was unset before: its leaves and its containers. */
function presentText(value: Json, schema: Schema): string {
  switch (treatmentOf(schema, value)) {
    case 'leaf':
      return LEAF;
    case 'fields':
      return presentKeys(objectOf(value), schema);
    case 'items':
      return presentItems(listOf(value) ?? [], listSchema(schema));
  }
}

function presentKeys(value: JsonObject | undefined, schema: Schema): string {
  if (value === undefined) return LEAF;
  const level: string[] = [];
  for (const key of sortedKeys(value))
    level.push(member(key, presentText(value[key] ?? null, fieldSchema(schema, key))));
  return nodeText(true, level) ?? LEAF;
}

const presentItems = (items: readonly Json[], list: ListSchema): string =>
  items.length === 0 ? LEAF : (nodeText(true, itemTexts(items, list)) ?? LEAF);

function itemTexts(items: readonly Json[], list: ListSchema): readonly string[] {
  const byElement = itemsByElement(list, items);
  const schema = list.items();
  return sortedElements(byElement).map((element: PathElement) => {
    const [only, ...duplicates] = byElement.get(element) ?? [];
    const text = only === undefined || duplicates.length > 0 ? LEAF : presentText(only, schema);
    return `${JSON.stringify(element)}:${text}`;
  });
}

const LEAF = '{}';

function nodeText(isMember: boolean, level: readonly string[]): string | undefined {
  if (level.length === 0) return isMember ? LEAF : undefined;
  return isMember ? `{".":{},${level.join(',')}}` : `{${level.join(',')}}`;
}

/** Names of fields without a need for quotes. */
const PLAIN = /^[\w./-]*$/;

const member = (key: string, text: string): string =>
  PLAIN.test(key) ? `"f:${key}":${text}` : `${JSON.stringify(fieldElement(key))}:${text}`;

const sortedKeys = (object: JsonObject): readonly string[] => sortedTexts(Object.keys(object));

const own = (object: JsonObject | undefined, key: string): Maybe =>
  object === undefined ? undefined : ownValue(object, key);
