import {
  duplicate,
  type FieldError,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  sortedJson,
  Verbatim,
} from '@holdfast/machinery';
import type { SchemaNode } from './schema-node.ts';

export const isAssociative = ({ listType, mapKeys }: SchemaNode): boolean => listType === 'map' && mapKeys.length > 0;

/** Returns the identity of an item in an associative list. */
export function keyOfItem(schema: SchemaNode, item: Json): string {
  if (!isJsonObject(item)) return sortedJson(item);
  return JSON.stringify(schema.mapKeys.map((key) => ownValue(item, key) ?? null));
}

/** Finds duplicate items of a set, and items of a map with equal keys. */
export function listTypeErrors(value: Json, schema: SchemaNode, path = ''): readonly FieldError[] {
  const out: FieldError[] = [];
  visit(out, value, schema, path);
  return out;
}

function visit(out: FieldError[], value: Json, schema: SchemaNode, path: string): void {
  if (!schema.has.identities) return;
  if (isJsonArray(value)) {
    if (schema.listType !== 'atomic') tellDoubles(out, value, schema, path);
    const { items } = schema;
    if (items?.has.identities === true)
      for (const [i, item] of value.entries()) visit(out, item, items, `${path}[${i}]`);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const key of Object.keys(value)) {
    const below = schema.properties.get(key) ?? schema.additional;
    if (below !== undefined) visit(out, value[key] ?? null, below, path === '' ? key : `${path}.${key}`);
  }
}

function tellDoubles(out: FieldError[], items: readonly Json[], schema: SchemaNode, path: string): void {
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    const identity = schema.listType === 'map' ? keyOfItem(schema, item) : sortedJson(item);
    if (seen.has(identity)) {
      const shown = schema.listType === 'map' && isJsonObject(item) ? keysOf(schema, item) : item;
      out.push(duplicate(`${path}[${i}]`, shownValue(shown)));
    }
    seen.add(identity);
  }
}

const keysOf = ({ mapKeys }: SchemaNode, item: JsonObject): JsonObject =>
  Object.fromEntries(mapKeys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key] ?? null]));

/** Maps and lists are printed in Go syntax. */
const shownValue = (value: Json): unknown =>
  typeof value === 'object' && value !== null ? new Verbatim(goLiteral(value)) : value;

export function goLiteral(value: Json): string {
  if (isJsonArray(value)) return `[]interface {}{${value.map(goLiteral).join(', ')}}`;
  if (!isJsonObject(value)) return value === null ? 'interface {}(nil)' : JSON.stringify(value);
  const pairs = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return `map[string]interface {}{${pairs.map(([key, child]) => `${JSON.stringify(key)}:${goLiteral(child)}`).join(', ')}}`;
}
