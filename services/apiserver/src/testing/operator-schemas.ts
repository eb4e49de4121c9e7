import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Schema = { [key: string]: unknown };

/** A kind of an operator, with the schema of each of its versions. */
export interface OperatorKind {
  readonly group: string;
  readonly kind: string;
  readonly versions: ReadonlyMap<string, Schema>;
}

const VERSION = /^v[0-9]+((alpha|beta)[0-9]+)?$/;

/**
 * The kinds in `<group>/<version>/<Kind>.mjs` beside the entry of a models package: each file contains the schema as
 * JSON.
 */
export function operatorKinds(entry: string): readonly OperatorKind[] {
  const folder = dirname(fileURLToPath(entry));
  const kinds = new Map<string, { group: string; kind: string; versions: Map<string, Schema> }>();
  for (const group of foldersIn(folder)) {
    for (const version of foldersIn(join(folder, group)).filter((name) => VERSION.test(name))) {
      for (const file of readdirSync(join(folder, group, version)).filter((name) => name.endsWith('.mjs'))) {
        const schema = schemaIn(readFileSync(join(folder, group, version, file), 'utf8'));
        const kind = file.slice(0, -'.mjs'.length);
        if (schema === undefined) continue;
        const known = kinds.get(`${group}/${kind}`) ?? { group, kind, versions: new Map<string, Schema>() };
        known.versions.set(version, schema);
        kinds.set(`${group}/${kind}`, known);
      }
    }
  }
  return [...kinds.values()];
}

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []));

function schemaIn(source: string): Schema | undefined {
  const [, text] = /^const schema = (\{[^]*?^\});$/m.exec(source) ?? [];
  return text === undefined ? undefined : structural(JSON.parse(text) as Schema);
}

/**
 * The packages express Kubernetes' extensions in JSON Schema. This reverses it: no type keeps everything, `anyOf` of a
 * number and a string is `int-or-string`, and one of something and null is nullable.
 */
function structural({ properties, required, description }: Schema): Schema {
  const named = Object.entries(properties as Record<string, Schema>).filter(([key]) => !COMMON.has(key));
  for (const [, schema] of named) extend(schema);
  const rest = (required as readonly string[]).filter((key) => !COMMON.has(key));
  return {
    type: 'object',
    description,
    properties: { ...Object.fromEntries(named), ...COMMON_PROPERTIES },
    ...(rest.length === 0 ? {} : { required: rest }),
  };
}

const COMMON_PROPERTIES = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
};
const COMMON: ReadonlySet<string> = new Set(Object.keys(COMMON_PROPERTIES));

function extend(schema: Schema): void {
  readNullable(schema);
  const { properties, additionalProperties, items, type } = schema;
  for (const child of Object.values((properties ?? {}) as Record<string, Schema>)) extend(child);
  if (isSchema(additionalProperties)) extend(additionalProperties);
  if (isSchema(items)) extend(items);
  if (isIntOrString(schema)) schema['x-kubernetes-int-or-string'] = true;
  else if (
    type === undefined ||
    (type === 'object' && properties === undefined && additionalProperties === undefined)
  ) {
    schema['x-kubernetes-preserve-unknown-fields'] = true;
  }
}

function readNullable(schema: Schema): void {
  const { oneOf } = schema;
  if (!Array.isArray(oneOf) || oneOf.length !== 2 || (oneOf[1] as Schema)['type'] !== 'null') return;
  Reflect.deleteProperty(schema, 'oneOf');
  Object.assign(schema, oneOf[0], { nullable: true });
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

const isIntOrString = ({ anyOf }: Schema): boolean =>
  Array.isArray(anyOf) && anyOf.map((each: Schema) => each['type']).join() === 'integer,string';

/** With a status subresource; the first version is stored. */
export const operatorDefinition = ({ group, kind, versions }: OperatorKind): unknown => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${pluralOf(kind)}.${group}`,
    annotations: { 'api-approved.kubernetes.io': 'https://example.com/approved' },
  },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: pluralOf(kind), kind },
    versions: [...versions].map(([name, openAPIV3Schema], i) => ({
      name,
      served: true,
      storage: i === 0,
      schema: { openAPIV3Schema },
    })),
  },
});

export const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`;
