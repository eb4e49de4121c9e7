/**
 * Plain JSON data. A `bigint` is an integer of 64 bits that a double cannot hold; all others are `number`. Objects may
 * have any key, including `__proto__`: read and write them with the helpers below.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}
export type MutableJsonObject = Record<string, Json>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonArray(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/**
 * Returns the value of an own key, never one inherited from `Object.prototype`. Every lookup by a name that a user
 * chose must use it: otherwise `labels['constructor']` is a function.
 */
export function ownValue<T>(object: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets plain data even for the key `__proto__`, where an assignment would change the prototype. */
export function setOwn(object: MutableJsonObject, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    return;
  }
  object[key] = value;
}

export function isEmptyObject(value: JsonObject): boolean {
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return true;
}

/** Returns the JSON type name that Go's decoder prints. */
export function jsonTypeName(value: Json): 'null' | 'bool' | 'number' | 'string' | 'array' | 'object' {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return 'number';
  if (typeof value === 'string') return 'string';
  return isJsonArray(value) ? 'array' : 'object';
}

/** Formats JSON as Go formats a map: sorted keys, escaped `<`, `>` and `&`. */
export function sortedJson(value: Json): string {
  return JSON.stringify(value, (_, child: Json) => (isSortable(child) ? withSortedKeys(child) : child)).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Where the value has a `bigint`, the replacer gets the object that stands for its text. */
const isSortable = (child: Json): child is JsonObject => isJsonObject(child) && !JSON.isRawJSON(child);

function withSortedKeys(object: JsonObject): JsonObject {
  const sorted: MutableJsonObject = {};
  for (const key of Object.keys(object).sort()) setOwn(sorted, key, object[key] ?? null);
  return sorted;
}
