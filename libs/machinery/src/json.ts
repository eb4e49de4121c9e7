/** Plain JSON data. Objects may carry any key, `__proto__` included: read and write them with the helpers below. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
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
 * The value of an own key: never something inherited from `Object.prototype`.
 * Every lookup by a name that a user chose goes through here: `labels['constructor']` is a function otherwise.
 */
export function ownValue<T>(object: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets plain data even when the key is `__proto__`, where an assignment would change the prototype. */
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

/** Go's names for JSON types, as its decoder prints them. */
export function jsonTypeName(value: Json): 'null' | 'bool' | 'number' | 'string' | 'array' | 'object' {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'string') return 'string';
  return isJsonArray(value) ? 'array' : 'object';
}

/** JSON as Go writes a map: keys sorted, `<`, `>` and `&` escaped. */
export function sortedJson(value: Json): string {
  return JSON.stringify(value, (_, child: Json) => (isJsonObject(child) ? withSortedKeys(child) : child)).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function withSortedKeys(object: JsonObject): JsonObject {
  const sorted: MutableJsonObject = {};
  for (const key of Object.keys(object).sort()) setOwn(sorted, key, object[key] ?? null);
  return sorted;
}
