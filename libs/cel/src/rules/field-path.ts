import { objectAt, type Schema } from './schema.ts';

export type FieldPathResult =
  | { readonly path: string; readonly error?: undefined }
  | { readonly path?: undefined; readonly error: string };

const TOKEN = /\.([^.[\]]*)|\['((?:[^'\\]|\\.)*)'\]|\[|[\s\S]/y;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ["'", "'"],
  ['\\', '\\'],
]);

/** Resolves the `fieldPath` of a rule, such as `.spec.x` or `.labels['a.b']`, against the schema at which it starts. */
export function readFieldPath(text: string, schema: Schema): FieldPathResult {
  let at: Schema | undefined = schema;
  let path = '';
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    const name = match?.[1] ?? (match?.[2] === undefined ? undefined : unescape(match[2]));
    if (name === undefined) return { error: problemAt(text, start) };
    const step = stepInto(at, name);
    if (step === undefined) return { error: 'does not refer to a valid field' };
    path += step.named ? `${path === '' ? '' : '.'}${name}` : `[${name}]`;
    at = step.schema;
  }
  return { path };
}

function problemAt(text: string, start: number): string {
  if (text[start] !== '[') return `expected [ or . but got: ${text.slice(start).split(/[.[\]]/)[0]}`;
  const token = text.slice(start + 1).split(/[.[\]]/)[0] ?? '';
  return token === '' ? 'unexpected end of JSON path' : `expected single quoted string but got ${token}`;
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_whole, char: string) => ESCAPES.get(char) ?? char);
}

function stepInto(schema: Schema | undefined, name: string): { schema: Schema; named: boolean } | undefined {
  if (schema === undefined) return undefined;
  const properties = objectAt(schema, 'properties');
  const property = properties === undefined ? undefined : objectAt(properties, name);
  if (property !== undefined) return { schema: property, named: true };
  if (properties !== undefined) return undefined;
  const additional = objectAt(schema, 'additionalProperties');
  return additional === undefined ? undefined : { schema: additional, named: false };
}
