import {
  type FieldSchema,
  type ListSchema,
  type MapSchema,
  ownValue,
  type ScalarType,
  type Schema,
  type StructSchema,
} from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import { SCHEMAS } from './generated/schemas.ts';

/** Field tables are built on first use and cached: unused kinds cost nothing at start-up. */
const built = new Map<string, StructSchema>();

/** Returns the field table of a kind, of its list, or of a kind of meta/v1 (`DeleteOptions`, `Status`). */
export function schemaFor(group: string, version: string, kind: string): StructSchema | undefined {
  const own = structSchema(`${packageOf(group)}.${version}.${kind}`);
  const schema = own ?? (version === 'v1' ? structSchema(`meta.v1.${kind}`) : undefined);
  return schema !== undefined && 'apiVersion' in schema.fields && 'kind' in schema.fields ? schema : undefined;
}

/** Returns the field table of any named struct: `core.v1.Container`. */
export function structSchema(name: string): StructSchema | undefined {
  const known = built.get(name);
  if (known !== undefined) return known;
  const dot = name.lastIndexOf('.');
  const text = ownValue(ownValue(SCHEMAS, name.slice(0, dot)) ?? {}, name.slice(dot + 1));
  if (text === undefined) return undefined;
  const schema = parseStruct(name, text);
  built.set(name, schema);
  return schema;
}

/** `rbac.authorization.k8s.io` -> `rbac`; the core group is `core`. */
const packageOf = (group: string): string => (group === '' ? 'core' : (group.split('.', 1)[0] ?? ''));

function parseStruct(name: string, text: string): StructSchema {
  const atomic = text.startsWith('!');
  const body = atomic ? text.slice(1) : text;
  const fields: [string, FieldSchema][] = [];
  for (const field of body === '' ? [] : body.split(';')) {
    const colon = field.indexOf(':');
    const flag = FLAGS.get(field.charAt(colon - 1));
    fields.push([field.slice(0, flag === undefined ? colon : colon - 1), parseField(field.slice(colon + 1), flag)]);
  }
  return { kind: 'struct', name, fields: Object.fromEntries(fields), ...(atomic ? { atomic } : {}) };
}

const FLAGS: ReadonlyMap<string, 'required' | 'omitsZero'> = new Map(
  Object.entries({ '!': 'required', '~': 'omitsZero' }),
);

function parseField(text: string, flag: 'required' | 'omitsZero' | undefined): FieldSchema {
  const [typeText = '', patch] = text.split('|', 2);
  const [strategies, mergeKey] = patch?.split('/', 2) ?? [];
  const patchStrategy = strategies?.split(',').filter(isPatchStrategy) ?? [];
  return {
    type: lazyType(typeText),
    ...(flag === undefined ? {} : { [flag]: true }),
    ...(STRUCT_BY_VALUE.test(typeText) ? { isValue: true } : {}),
    ...(patchStrategy.length === 0 ? {} : { patchStrategy }),
    ...(mergeKey === undefined ? {} : { patchMergeKey: mergeKey }),
  };
}

const STRUCT_BY_VALUE = /^[!+]?&/;

const isPatchStrategy = (text: string): text is 'merge' | 'retainKeys' | 'replace' =>
  text === 'merge' || text === 'retainKeys' || text === 'replace';

function lazyType(text: string): () => Schema {
  let schema: Schema | undefined;
  return () => (schema ??= parseType(text));
}

const SCALARS: ReadonlyMap<string, ScalarType> = new Map(
  Object.entries({
    s: 'string',
    b: 'boolean',
    i: 'int32',
    l: 'int64',
    n: 'number',
    q: 'quantity',
    o: 'intOrString',
    t: 'time',
    u: 'microTime',
    y: 'bytes',
  }),
);

function parseType(text: string): Schema {
  const rest = text.slice(1);
  switch (text.charAt(0)) {
    case '*':
      return { kind: 'any' };
    case '@':
    case '&':
      return structNamed(rest);
    case '[':
      return { kind: 'list', items: lazyType(rest), listType: 'atomic' };
    case '=':
      return { kind: 'list', items: lazyType(rest), listType: 'set' };
    case '<':
      return parseMapList(rest);
    case '{':
      return { kind: 'map', values: lazyType(rest) };
    case '!':
      return overrideAtomic(parseType(rest), true);
    case '+':
      return overrideAtomic(parseType(rest), false);
    default:
      return { kind: 'scalar', scalar: scalarNamed(text) };
  }
}

function parseMapList(text: string): ListSchema {
  const end = text.indexOf('>');
  return {
    kind: 'list',
    items: lazyType(text.slice(end + 1)),
    listType: 'map',
    mapKeys: text.slice(0, end).split(','),
  };
}

function overrideAtomic(schema: Schema, atomic: boolean): Schema {
  if (schema.kind === 'map') return { ...schema, atomic } satisfies MapSchema;
  return schema.kind === 'struct' ? { ...schema, atomic } : schema;
}

function structNamed(name: string): StructSchema {
  const schema = structSchema(name);
  invariant(schema !== undefined, 'the field tables refer to a struct they do not have', { name });
  return schema;
}

function scalarNamed(code: string): ScalarType {
  const scalar = SCALARS.get(code);
  invariant(scalar !== undefined, 'the field tables use an unknown scalar code', { code });
  return scalar;
}
