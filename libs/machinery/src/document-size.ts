import { isJsonArray, isJsonObject, type Json } from './json.ts';
import { JsonSyntaxError } from './json-scan.ts';
import { MAX_ENTRIES, MAX_JSON_DEPTH, MAX_VALUES } from './limits.ts';
import { requestEntityTooLarge } from './status.ts';

/**
 * Counts the keys of a document. Throws StatusError 413 when it has too many values: in every step up to the response
 * each value costs many times its bytes.
 */
export function keysOfDocument(value: Json): number {
  const census = new Census();
  census.visit(value, 0, census.own);
  return census.own.keys + census.owners.keys;
}

/** The same check without the count, for a document that the server itself composed. */
export function refuseTooManyValues(value: Json): void {
  keysOfDocument(value);
}

interface Count {
  keys: number;
  values: number;
  readonly entriesMax: number;
  readonly valuesMax: number;
}

const OWNERS = 'managedFields';

class Census {
  readonly own: Count = { keys: 0, values: 0, entriesMax: MAX_ENTRIES, valuesMax: MAX_VALUES };
  /**
   * managedFields has a separate count: an object that could be created can be sent again with its owners, which name
   * each entry and the containers of the entries.
   */
  readonly owners: Count = { keys: 0, values: 0, entriesMax: MAX_ENTRIES + 1, valuesMax: 2 * MAX_VALUES };

  visit(value: Json, depth: number, count: Count): void {
    if (typeof value !== 'object' || value === null) return;
    if (depth > MAX_JSON_DEPTH) throw new JsonSyntaxError('exceeded max depth');
    if (isJsonArray(value)) {
      note(count, value.length);
      for (const item of value) this.visit(item, depth + 1, count);
      return;
    }
    let keys = 0;
    for (const key in value) {
      keys += 1;
      if (keys > count.entriesMax) throw tooManyEntries();
      const child = value[key];
      if (!isJsonObject(child) && !isJsonArray(child)) continue;
      this.visit(child, depth + 1, key === OWNERS ? this.owners : count);
    }
    count.keys += keys;
    note(count, keys);
  }
}

function note(count: Count, entries: number): void {
  if (entries > count.entriesMax) throw tooManyEntries();
  count.values += entries;
  if (count.values > count.valuesMax) throw requestEntityTooLarge(`limit is ${MAX_VALUES} values in one document`);
}

export const tooManyEntries = (): Error =>
  requestEntityTooLarge(`limit is ${MAX_ENTRIES} entries in one list or object`);
