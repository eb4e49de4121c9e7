import { isJsonArray, isJsonObject, type Json, type JsonObject, type MutableJsonObject, setOwn } from './json.ts';

/** Deep-freezes the value. Assumes that a frozen branch is frozen all the way down. */
export function deepFreeze<T>(value: T): Readonly<T>;
export function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else if (isJsonObject(value)) freezeMembers(value);
  return Object.freeze(value);
}

/** Removes undefined members: JSON has none, and a frozen value must equal its serialized text. */
function freezeMembers(object: MutableJsonObject): void {
  for (const key in object) {
    const child = object[key];
    if (child === undefined) delete object[key];
    else if (typeof child === 'object') deepFreeze(child);
  }
}

/**
 * Equality of JSON data. The order of keys does not matter, and an absent key differs from null. An undefined member
 * counts as absent, as in the serialized text.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) return isJsonArray(b) && arraysEqual(a, b, deepEqual);
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  let keys = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(b, key) || !deepEqual(value, b[key])) return false;
    keys += 1;
  }
  for (const key in b) if (b[key] !== undefined) keys -= 1;
  return keys === 0;
}

/** Kubernetes' semantic equality: absent, null, `{}` and `[]` are the same; everything else as in deepEqual. */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isJsonArray(a) && isJsonArray(b)) return arraysEqual(a, b, semanticEqual);
  if (isJsonObject(a) && isJsonObject(b)) return everyKeySemanticallyEqual(a, b);
  return isNothing(a) && isNothing(b);
}

function everyKeySemanticallyEqual(a: JsonObject, b: JsonObject): boolean {
  for (const key in a) {
    if (!semanticEqual(a[key], Object.hasOwn(b, key) ? b[key] : undefined)) return false;
  }
  for (const key in b) {
    if (!Object.hasOwn(a, key) && !isNothing(b[key])) return false;
  }
  return true;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  return Object.keys(value).length === 0;
}

function arraysEqual(
  a: readonly unknown[],
  b: readonly unknown[],
  equal: (x: unknown, y: unknown) => boolean,
): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (!equal(a[i], b[i])) return false;
  return true;
}

/** Structured copy of plain JSON data; several times faster than structuredClone. */
export function copyJson<T>(value: T): T;
export function copyJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (isJsonArray(value)) return value.map((item) => copyJson(item));
  const copy: Record<string, Json> = {};
  for (const key in value) {
    const child = value[key];
    if (child === undefined) continue;
    const copied = typeof child === 'object' && child !== null ? copyJson(child) : child;
    if (key === '__proto__') setOwn(copy, key, copied);
    else copy[key] = copied;
  }
  return copy;
}
