import { isJsonArray, isJsonObject, type Json } from './json.ts';
import { JsonSyntaxError } from './json-scan.ts';
import { MAX_ENTRIES, MAX_JSON_DEPTH, MAX_VALUES } from './limits.ts';
import { requestEntityTooLarge } from './status.ts';

/**
 * The keys of a document. Throws StatusError 413 where it has more values than anybody reads: each costs many times what its
 * bytes cost, in every step from here to the answer.
 */
export function keysOfDocument(value: Json): number {
  const count = { keys: 0, values: 0 };
  visit(value, 0, count);
  return count.keys;
}

/** The same where nobody asks for the keys: of a document that was put together here. */
export function refuseTooManyValues(value: Json): void {
  keysOfDocument(value);
}

interface Count {
  keys: number;
  values: number;
}

function visit(value: Json, depth: number, count: Count): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_JSON_DEPTH) throw new JsonSyntaxError('exceeded max depth');
  if (isJsonArray(value)) {
    note(count, value.length);
    for (const item of value) visit(item, depth + 1, count);
    return;
  }
  let keys = 0;
  for (const key in value) {
    keys += 1;
    if (keys > MAX_ENTRIES) throw tooManyEntries();
    const child = value[key];
    if (isJsonObject(child) || isJsonArray(child)) visit(child, depth + 1, count);
  }
  count.keys += keys;
  note(count, keys);
}

function note(count: Count, entries: number): void {
  if (entries > MAX_ENTRIES) throw tooManyEntries();
  count.values += entries;
  if (count.values > MAX_VALUES) {
    throw requestEntityTooLarge(`limit is ${MAX_VALUES} values in one document`);
  }
}

export const tooManyEntries = (): Error =>
  requestEntityTooLarge(`limit is ${MAX_ENTRIES} entries in one list or object`);
