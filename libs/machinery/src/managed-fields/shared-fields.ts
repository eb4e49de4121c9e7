import { deepFreeze } from '../deep.ts';
import type { FieldSet } from '../fieldpath/field-set.ts';
import { decodeFieldsV1 } from '../fieldpath/fields-v1.ts';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';

/** Objects made from one template own the same fields: so many texts of FieldsV1 are known, and each is one value for all. */
const KNOWN_MAX = 512;
/** A longer text is hardly met twice. */
const KNOWN_CHARS_MAX = 8_192;

const byText = new Map<string, JsonObject>();
const textOf = new WeakMap<JsonObject, string>();
const setOf = new WeakMap<JsonObject, FieldSet>();

/** The frozen value of a FieldsV1 text; the same instance for the same text. `value` is what the text says, where that is at hand. */
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

/** Whoever still holds it keeps a value that is as good as any, without what was found out about it: sets are many times as large. */
function forgetOldest(): void {
  const [oldest] = byText;
  if (oldest === undefined) return;
  const [text, fields] = oldest;
  byText.delete(text);
  textOf.delete(fields);
  setOf.delete(fields);
}

/** The set of a FieldsV1 value; that of a shared one is kept, because it is asked for again. Throws FieldsV1Error. */
export function fieldSetFrom(fields: Json): FieldSet {
  if (!isJsonObject(fields) || !textOf.has(fields)) return decodeFieldsV1(fields);
  const known = setOf.get(fields) ?? decodeFieldsV1(fields);
  setOf.set(fields, known);
  return known;
}

/** The text of a FieldsV1 value, which is known already for a shared one. */
export function fieldsText(fields: unknown): string {
  return (isJsonObject(fields) ? textOf.get(fields) : undefined) ?? JSON.stringify(fields);
}
