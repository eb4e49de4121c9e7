import { fieldElement } from '../fieldpath/element.ts';
import { childrenOf, type FieldSet, hasMember, isEmptySet } from '../fieldpath/field-set.ts';
import { type Json, type JsonObject, type MutableJsonObject, setOwn } from '../json.ts';
import type { ListSchema, Schema } from '../schema.ts';
import {
  ANY_SCHEMA,
  declaresField,
  fieldSchema,
  listOf,
  listSchema,
  objectOf,
  treatmentOf,
  tryItemElement,
} from './shape.ts';

/** Removes the fields of the set from the object. A container that becomes empty turns into null. */
export function removeFields(value: JsonObject, fields: FieldSet, schema: Schema): JsonObject {
  return objectOf(removeFrom(value, fields, schema)) ?? {};
}

function removeFrom(value: Json, fields: FieldSet, schema: Schema): Json {
  if (isEmptySet(fields)) return value;
  switch (treatmentOf(schema, value)) {
    case 'leaf':
      return value;
    case 'fields':
      return removeFromFields(schema, value, fields);
    case 'items':
      return removeFromItems(listSchema(schema), value, fields);
  }
}

function removeFromFields(schema: Schema, value: Json, fields: FieldSet): Json {
  const object = objectOf(value);
  if (object === undefined) return value;
  const left: MutableJsonObject = {};
  let count = 0;
  for (const [key, child] of Object.entries(object)) {
    const element = fieldElement(key);
    if (hasMember(fields, element)) continue;
    setOwn(left, key, removeFrom(child, childrenOf(fields, element), fieldSchema(schema, key)));
    count += 1;
  }
  return count === 0 ? null : left;
}

function removeFromItems(list: ListSchema, value: Json, fields: FieldSet): Json {
  const items = listOf(value);
  if (items === undefined) return value;
  const schema = list.items();
  const left: Json[] = [];
  for (const item of items) {
    const element = tryItemElement(list, item);
    if (element === undefined) left.push(item);
    else if (!hasMember(fields, element)) left.push(removeFrom(item, childrenOf(fields, element), schema));
  }
  return left.length === 0 ? null : left;
}

/**
 * Adds the struct fields on the paths of the set: `a.b.c` then also owns `a` and `a.b` where these are declared fields,
 * but not keys of a map.
 */
export function withDeclaredFields(set: FieldSet, schema: Schema): FieldSet {
  const result = new Map<string, { member: boolean; children: FieldSet }>();
  for (const [element, node] of set) {
    const isField = element.startsWith('f:');
    const name = element.slice(2);
    const member = node.member || (isField && declaresField(schema, name));
    const below = isField ? fieldSchema(schema, name) : itemSchema(schema);
    result.set(element, {
      member,
      children: isEmptySet(node.children) ? node.children : withDeclaredFields(node.children, below),
    });
  }
  return result;
}

const itemSchema = (schema: Schema): Schema => (schema.kind === 'list' ? schema.items() : ANY_SCHEMA);
