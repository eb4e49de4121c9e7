import type { PathElement } from '../fieldpath/element.ts';
import { isEmptyObject, type Json, type JsonObject, type MutableJsonObject, setOwn } from '../json.ts';
import type { ListSchema, Schema } from '../schema.ts';
import {
  fieldSchema,
  itemsByElement,
  listOf,
  listSchema,
  type Maybe,
  objectOf,
  treatmentOf,
  tryItemElement,
} from './shape.ts';

/** Merges the applied configuration over the live object: the configuration wins for the fields that it contains. */
export function mergeTyped(live: JsonObject, config: JsonObject, schema: Schema): JsonObject {
  return objectOf(mergeValue(live, config, schema)) ?? {};
}

function mergeValue(live: Maybe, config: Maybe, schema: Schema): Maybe {
  if (config === undefined) return live;
  if (live === undefined) return config;
  switch (treatmentOf(schema, config === null ? live : config)) {
    case 'leaf':
      return config;
    case 'fields':
      return mergeFields(schema, live, config);
    case 'items':
      return mergeItems(listSchema(schema), live, config);
  }
}

function mergeFields(schema: Schema, live: Json, config: Json): Json {
  const left = objectOf(live);
  const right = objectOf(config);
  if (right === undefined || isEmptyObject(right)) return left === undefined || isEmptyObject(left) ? config : left;
  const merged: MutableJsonObject = { ...left };
  for (const key in right) {
    const before = left !== undefined && Object.hasOwn(left, key) ? left[key] : undefined;
    const after = mergeValue(before, right[key], fieldSchema(schema, key));
    if (after !== undefined) setOwn(merged, key, after);
  }
  return merged;
}

/**
 * Keeps items of the configuration in its order. An item that only the live list has stays before the next shared item
 * that followed it there.
 */
function mergeItems(list: ListSchema, live: Json, config: Json): Json {
  const left = listOf(live) ?? [];
  const right = listOf(config) ?? [];
  if (right.length === 0) return left.length === 0 ? config : left;
  const liveItems = itemsByElement(list, left);
  const configItems = itemsByElement(list, right);
  const schema = list.items();
  const merged: Json[] = [];
  const place = (element: PathElement): void => {
    const item = mergeValue(liveItems.get(element)?.[0], configItems.get(element)?.[0], schema);
    if (item !== undefined) merged.push(item);
  };
  const upcoming = [...configItems.keys()];
  let next = 0;
  let shared = 0;
  for (const item of left) {
    const element = tryItemElement(list, item);
    if (element === undefined || !configItems.has(element)) {
      merged.push(item);
      continue;
    }
    // Items that only the configuration has precede the next shared item.
    for (; !liveItems.has(upcoming[shared] ?? element); shared += 1);
    if (upcoming[shared] !== element) continue;
    for (shared += 1; next < shared; next += 1) place(upcoming[next] ?? element);
  }
  for (const element of upcoming.slice(next)) place(element);
  return merged;
}
