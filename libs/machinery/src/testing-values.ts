import { isJsonArray, isJsonObject, type Json, type MutableJsonObject, setOwn } from './json.ts';

/** The value with doubles in place of long integers, as `JSON.parse` makes it. */
export function rounded(value: Json): Json {
  if (typeof value === 'bigint') return Number(value);
  if (isJsonArray(value)) return value.map(rounded);
  if (!isJsonObject(value)) return value;
  const copy: MutableJsonObject = {};
  for (const key of Object.keys(value)) setOwn(copy, key, rounded(value[key] ?? null));
  return copy;
}
