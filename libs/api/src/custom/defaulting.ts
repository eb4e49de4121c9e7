import { copyJson, isJsonArray, isJsonObject, type Json, type MutableJsonObject, setOwn } from '@holdfast/machinery';
import type { SchemaNode } from './schema-node.ts';

/** Fills in `default`s in place, also in place of a null that is not allowed. It sets copies. */
export function setCustomDefaults(value: unknown, schema: SchemaNode): void {
  if (!schema.has.defaults) return;
  if (isJsonArray(value)) fillItems(value as Json[], schema.items);
  else if (isJsonObject(value)) fillFields(value, schema);
}

/** True when `setCustomDefaults` would change something: frozen values are copied only then. */
export function lacksDefaults(value: unknown, schema: SchemaNode): boolean {
  if (!schema.has.defaults) return false;
  if (isJsonArray(value)) {
    const { items } = schema;
    return items !== undefined && value.some((item) => isUnset(item, items) || lacksDefaults(item, items));
  }
  if (!isJsonObject(value)) return false;
  for (const [name, property] of schema.properties) {
    const isThere = Object.hasOwn(value, name);
    if (property.default !== undefined && (!isThere || isUnset(value[name], property))) return true;
    if (isThere && lacksDefaults(value[name], property)) return true;
  }
  const { additional } = schema;
  if (additional === undefined) return false;
  return Object.values(value).some((child) => isUnset(child, additional) || lacksDefaults(child, additional));
}

const isUnset = (value: unknown, schema: SchemaNode): boolean =>
  value === null && !schema.nullable && schema.default !== undefined;

function fillItems(values: Json[], items: SchemaNode | undefined): void {
  if (items === undefined) return;
  for (const [index, item] of values.entries()) {
    if (isUnset(item, items)) values[index] = copyJson(items.default ?? null);
    setCustomDefaults(values[index], items);
  }
}

function fillFields(object: MutableJsonObject, schema: SchemaNode): void {
  for (const [name, property] of schema.properties) {
    if (!property.has.defaults) continue;
    const isThere = Object.hasOwn(object, name);
    if (property.default !== undefined && (!isThere || isUnset(object[name], property))) {
      setOwn(object, name, copyJson(property.default));
    }
    if (Object.hasOwn(object, name)) setCustomDefaults(object[name], property);
  }
  const { additional } = schema;
  if (additional?.has.defaults !== true) return;
  for (const key of Object.keys(object)) {
    if (isUnset(object[key], additional)) setOwn(object, key, copyJson(additional.default ?? null));
    setCustomDefaults(object[key], additional);
  }
}
