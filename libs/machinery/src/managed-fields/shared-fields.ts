import { deepFreeze } from '../deep.ts';
import type { FieldSet } from '../fieldpath/field-set.ts';
import { decodeFieldsV1 } from '../fieldpath/fields-v1.ts';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';

/** Objects from one template own the same fields. This many FieldsV1 texts are cached, each with one shared value. */
const KNOWN_MAX = 512;
/** Longer texts rarely repeat. */
const KNOWN_CHARS_MAX = 8_192;

const byText = new Map<string, JsonObject>();
const textOf = new WeakMap<JsonObject, string>();
const setOf = new WeakMap<JsonObject, FieldSet>();

/**
 * Returns the frozen value of a FieldsV1 text: the same instance for the same text. Pass `value` when the text is
 * already parsed.
 */
export function sharedFields(text: string, value?: JsonObject): JsonObject {
  const known = byText.get(text);
  if (known !== undefined) return known;
  const parsed: unknown = value ?? JSON.parse(text);
  const fields = deepFreeze(isJsonObject(parsed) ? parsed : {});
  if (text.length <= KNOWN_CHARS_MAX) remember(text, fields);
  return fields;
}

function remember(text: string, fields: JsonObject): void {
  if (byText.size >= KNOWN_MAX) forgetOldest();
  byText.set(text, fields);
  textOf.set(fields, text);
}

/** Current holders keep a valid value but lose its cached set, which is many times as large. */
function forgetOldest(): void {
  const [oldest] = byText;
  if (oldest === undefined) return;
  const [text, fields] = oldest;
  byText.delete(text);
  textOf.delete(fields);
  setOf.delete(fields);
}

/** Returns the set of a FieldsV1 value. Caches the set of a shared value. Throws FieldsV1Error. */
export function fieldSetFrom(fields: Json): FieldSet {
  if (!isJsonObject(fields) || !textOf.has(fields)) return decodeFieldsV1(fields);
  const known = setOf.get(fields) ?? decodeFieldsV1(fields);
  setOf.set(fields, known);
  return known;
}

/** Returns the text of a FieldsV1 value; for a shared value it is cached. */
export function fieldsText(fields: unknown): string {
  return (isJsonObject(fields) ? textOf.get(fields) : undefined) ?? JSON.stringify(fields);
}
