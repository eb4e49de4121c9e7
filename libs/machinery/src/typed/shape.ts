import { invariant } from '@holdfast/platform/invariant';
import { keyElement, type PathElement, valueElement } from '../fieldpath/element.ts';
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  type MutableJsonObject,
  ownValue,
  setOwn,
} from '../json.ts';
import type { ListSchema, Schema } from '../schema.ts';

/** `undefined` is absent; `null` is present but nil. The difference decides about ownership. */
export type Maybe = Json | undefined;

export const ANY_SCHEMA: Schema = Object.freeze({ kind: 'any' });

/** The unit of ownership in a value: one leaf, key by key, or item by item. */
export type Treatment = 'leaf' | 'fields' | 'items';

/** Data without a schema is treated by its type: objects key by key, lists as a whole. */
export function treatmentOf(schema: Schema, value: Maybe): Treatment {
  switch (schema.kind) {
    case 'scalar':
      return 'leaf';
    case 'any':
      return isJsonObject(value) ? 'fields' : 'leaf';
    case 'list':
      return schema.listType === 'atomic' ? 'leaf' : 'items';
    case 'map':
    case 'struct':
      return schema.atomic === true ? 'leaf' : 'fields';
  }
}

export const declaresField = (schema: Schema, key: string): boolean =>
  schema.kind === 'struct' && Object.hasOwn(schema.fields, key);

export function fieldSchema(schema: Schema, key: string): Schema {
  if (schema.kind === 'map') return schema.values();
  if (schema.kind !== 'struct' || !Object.hasOwn(schema.fields, key)) return ANY_SCHEMA;
  return schema.fields[key]?.type() ?? ANY_SCHEMA;
}

export function listSchema(schema: Schema): ListSchema {
  invariant(schema.kind === 'list', 'items are treated one by one only in a list', { kind: schema.kind });
  return schema;
}

export const objectOf = (value: Maybe): JsonObject | undefined => (isJsonObject(value) ? value : undefined);
export const listOf = (value: Maybe): readonly Json[] | undefined => (isJsonArray(value) ? value : undefined);

/**
 * Explains why an item has no identity in its list. It is not an Error: a document may have thousands of such items,
 * and each Error captures a stack.
 */
export class ItemProblem {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** Returns the path element of an item: its keys completed with the schema's defaults, or the item itself in a set. */
export function itemElement(list: ListSchema, item: Json): PathElement | ItemProblem {
  return list.listType === 'map' ? keyedItemElement(list, item) : setItemElement(item);
}

function setItemElement(item: Json): PathElement | ItemProblem {
  if (item === null) return new ItemProblem("associative list without keys has an element that's an explicit null");
  if (typeof item === 'object') {
    const type = isJsonArray(item) ? 'list' : 'map';
    return new ItemProblem(`associative list without keys has an element that's a ${type} type`);
  }
  return valueElement(item);
}

function keyedItemElement(list: ListSchema, item: Json): PathElement | ItemProblem {
  if (item === null) return new ItemProblem('associative list with keys may not have a null element');
  if (!isJsonObject(item)) return new ItemProblem('associative list with keys may not have non-map elements');
  const [first = '', ...more] = list.mapKeys ?? [];
  // Most lists have one key, which needs no sorting.
  if (more.length === 0 && first !== '') {
    const value = keyOf(list, item, first);
    return value === undefined ? keyOmitted(first) : `k:{${JSON.stringify(first)}:${JSON.stringify(value)}}`;
  }
  const keys: MutableJsonObject = {};
  for (const key of list.mapKeys ?? []) {
    const value = keyOf(list, item, key);
    if (value === undefined) return keyOmitted(key);
    setOwn(keys, key, value);
  }
  return keyElement(keys);
}

const keyOf = (list: ListSchema, item: JsonObject, key: string): Json | undefined =>
  ownValue(item, key) ?? defaultOfKey(list, key);

const keyOmitted = (key: string): ItemProblem =>
  new ItemProblem(
    `associative list with keys has an element that omits key field ${JSON.stringify(key)} (and doesn't have default value)`,
  );

/** The only default among the keys of built-in lists, for tables without defaults: ports are TCP. */
const BUILT_IN_KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

function defaultOfKey(list: ListSchema, key: string): Json | undefined {
  const items = list.items();
  if (items.kind !== 'struct') return undefined;
  const field = Object.hasOwn(items.fields, key) ? items.fields[key] : undefined;
  return field?.default ?? (Object.hasOwn(BUILT_IN_KEY_DEFAULTS, key) ? BUILT_IN_KEY_DEFAULTS[key] : undefined);
}

/** Returns items by identity, in order; omits items without an identity. */
export function itemsByElement(list: ListSchema, items: readonly Json[] | undefined): Map<PathElement, Json[]> {
  const found = new Map<PathElement, Json[]>();
  for (const item of items ?? []) {
    const element = tryItemElement(list, item);
    if (element === undefined) continue;
    const same = found.get(element);
    if (same === undefined) found.set(element, [item]);
    else same.push(item);
  }
  return found;
}

export function tryItemElement(list: ListSchema, item: Json): PathElement | undefined {
  const element = itemElement(list, item);
  return element instanceof ItemProblem ? undefined : element;
}
