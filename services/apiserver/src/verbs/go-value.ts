import { isJsonArray, isJsonObject, type Json } from '@holdfast/machinery';

/** As Go prints a value that came out of JSON: `map[a:1 b:[x y]]`. */
export function goValue(value: Json): string {
  if (value === null) return '<nil>';
  if (isJsonArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (!isJsonObject(value)) return String(value);
  const entries = Object.keys(value)
    .toSorted()
    .map((key) => `${key}:${goValue(value[key] ?? null)}`);
  return `map[${entries.join(' ')}]`;
}
