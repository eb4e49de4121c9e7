/** Returns the error of Go's decoder for text that is not JSON or not JSON of this type; otherwise `undefined`. */
export function goJsonProblem(text: string, type: string): string | undefined {
  if (text.trim() === '') return 'unexpected end of JSON input';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const first = text.trim().charAt(0);
    return first === '{' || first === '['
      ? 'unexpected end of JSON input'
      : `invalid character '${first}' looking for beginning of value`;
  }
  if (value === null || (type.startsWith('[]') ? Array.isArray(value) : isObject(value))) return undefined;
  return `json: cannot unmarshal ${goJsonType(value)} into Go value of type ${type}`;
}

/** Returns the items of a JSON list from an untrusted source, with the string fields of each. */
export function textsOfItems(text: string): readonly Readonly<Record<string, string>>[] {
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) return [];
  return list.map((item: unknown) => {
    const members: readonly [string, unknown][] = isObject(item) && item !== null ? Object.entries(Object(item)) : [];
    return Object.fromEntries(members.filter((member): member is [string, string] => typeof member[1] === 'string'));
  });
}

const isObject = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value);

const goJsonType = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
