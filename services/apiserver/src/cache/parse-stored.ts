import { allResources, type KubeObject, schemaFor } from '@holdfast/api';
import {
  isJsonArray,
  isJsonObject,
  type Json,
  mayHoldLongIntegers,
  parseLongIntegers,
  type Schema,
} from '@holdfast/machinery';
import { resourcePrefix, type StoreKey } from '@holdfast/store';

/**
 * Parses the stored text of an object. Integers that a double cannot hold are kept in custom resources, and in the
 * fields of built-in kinds that hold any data. The search for them costs a sixth of the parsing. Other kinds have numbers
 * to compute with.
 */
export function parseStored(key: StoreKey, text: string, parse: Parse = JSON.parse): KubeObject {
  const form = formOf(key);
  if (form === 'numbers' || !mayHoldLongIntegers(text)) return parse(text);
  const exact = parseLongIntegers(text);
  return (form === 'exact' ? exact : withNumbers(exact, form)) as unknown as KubeObject;
}

/** For text without such integers. */
type Parse = (text: string) => KubeObject;

/** A schema tells the fields that hold any data from those that hold numbers. */
type Form = 'numbers' | 'exact' | Schema;

/** Definitions have default values of any type, and revisions the data of any controller. */
const WITH_ANY_DATA: ReadonlySet<string> = new Set([
  resourcePrefix('apiextensions.k8s.io', 'customresourcedefinitions'),
  resourcePrefix('apps', 'controllerrevisions'),
]);

/** Built on first use: the registry imports much. */
let builtIn: ReadonlyMap<string, Form> | undefined;

function formOf(key: StoreKey): Form {
  builtIn ??= new Map(
    allResources().map(({ group, version, kind, plural }) => {
      const prefix = resourcePrefix(group, plural);
      return [prefix, (WITH_ANY_DATA.has(prefix) ? schemaFor(group, version, kind) : undefined) ?? 'numbers'];
    }),
  );
  return builtIn.get(key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1)) ?? 'exact';
}

/** Typed fields have numbers, as after decoding: only data of any type keep a `bigint`. */
function withNumbers(value: Json, schema: Schema): Json {
  switch (schema.kind) {
    case 'any':
      return value;
    case 'scalar':
      return typeof value === 'bigint' ? Number(value) : value;
    case 'list':
      return isJsonArray(value) ? value.map((item) => withNumbers(item, schema.items())) : value;
    case 'map':
      return withMembers(value, () => schema.values());
    case 'struct':
      return withMembers(value, (name) =>
        Object.hasOwn(schema.fields, name) ? schema.fields[name]?.type() : undefined,
      );
  }
}

function withMembers(value: Json, typeOf: (name: string) => Schema | undefined): Json {
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const type = typeOf(name);
    return [name, type === undefined ? member : withNumbers(member, type)] as const;
  });
  return Object.fromEntries(members);
}
