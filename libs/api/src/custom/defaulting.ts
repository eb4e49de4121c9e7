import {
  isJsonArray,
  isJsonObject,
  type Json,
  type MutableJsonObject,
  requestEntityTooLarge,
  setOwn,
} from '@holdfast/machinery';
import { DefaultRoom } from './default-room.ts';
import { DEFAULTS_SIZE_MAX } from './limits.ts';
import type { SchemaNode } from './schema-node.ts';

/**
 * Fills in `default`s in place, also in place of a null that is not allowed. It sets copies. Throws when these would be
 * larger than an object may be: a default may be copied into each of many items.
 */
export function setCustomDefaults(value: unknown, schema: SchemaNode): void {
  const room = new DefaultRoom();
  fill(value, schema, room);
  if (room.isExceeded) throw requestEntityTooLarge(`its defaults have a size of more than ${DEFAULTS_SIZE_MAX}`);
}

/** The same for a stored object, which has to stay readable: it gets no more defaults than there is room for. */
export function setStoredDefaults(value: unknown, schema: SchemaNode): void {
  fill(value, schema, new DefaultRoom());
}

function fill(value: unknown, schema: SchemaNode, room: DefaultRoom): void {
  if (!schema.has.defaults || room.isExceeded) return;
  if (isJsonArray(value)) fillItems(value as Json[], schema.items, room);
  else if (isJsonObject(value)) fillFields(value, schema, room);
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

function fillItems(values: Json[], items: SchemaNode | undefined, room: DefaultRoom): void {
  if (items === undefined) return;
  for (const [index, item] of values.entries()) {
    if (isUnset(item, items)) values[index] = room.copyOf(items) ?? null;
    fill(values[index], items, room);
  }
}

function fillFields(object: MutableJsonObject, schema: SchemaNode, room: DefaultRoom): void {
  for (const [name, property] of schema.properties) {
    if (!property.has.defaults) continue;
    const isThere = Object.hasOwn(object, name);
    if (property.default !== undefined && (!isThere || isUnset(object[name], property))) {
      setDefault(object, name, room.copyOf(property));
    }
    if (Object.hasOwn(object, name)) fill(object[name], property, room);
  }
  const { additional } = schema;
  if (additional?.has.defaults !== true) return;
  for (const key of Object.keys(object)) {
    if (isUnset(object[key], additional)) setDefault(object, key, room.copyOf(additional));
    fill(object[key], additional, room);
  }
}

function setDefault(object: MutableJsonObject, key: string, value: Json | undefined): void {
  if (value !== undefined) setOwn(object, key, value);
}
