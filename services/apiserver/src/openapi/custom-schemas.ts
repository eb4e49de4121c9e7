import { structSchema } from '@holdfast/api';
import { isJsonArray, isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import type { ServedKind } from '../endpoints/served-kinds.ts';
import { groupVersion, listKindName } from '../served.ts';
import { META } from './schema-names.ts';
import type { JsonSchema, PublishedKind, SchemaCollector } from './schemas.ts';

/** `reef.example.com` -> `com.example.reef.v1.Coral` */
export const customSchemaName = ({ group, version, kind }: PublishedKind): string =>
  `${group.split('.').reverse().join('.')}.${version}.${kind}`;

/** Adds the schema of a kind of a definition, and of its list. */
export function addCustomKind(collector: SchemaCollector, served: ServedKind): void {
  const { custom, group, version, kind } = served;
  if (custom === undefined) return;
  const name = customSchemaName(served);
  const schema = collector.isVersion3 ? custom.openApi() : plainSchema(custom.openApi());
  collector.addRaw(name, {
    ...schema,
    properties: { ...propertiesOf(schema), ...TYPE_FIELDS, metadata: metaOf(collector, 'ObjectMeta') },
    'x-kubernetes-group-version-kind': [{ group, version, kind }],
  });
  const listKind = listKindName(served);
  collector.addRaw(customSchemaName({ group, version, kind: listKind }), {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...TYPE_FIELDS,
      items: {
        description: `List of ${served.plural} of ${groupVersion(served)}`,
        type: 'array',
        items: collector.reference(name),
      },
      metadata: metaOf(collector, 'ListMeta'),
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: listKind }],
  });
}

const TYPE_FIELDS = {
  apiVersion: { description: 'The version of the schema of this object', type: 'string' },
  kind: { description: 'What this object is', type: 'string' },
} as const;

function propertiesOf(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, 'properties');
  return isJsonObject(properties) ? properties : {};
}

function metaOf(collector: SchemaCollector, kind: 'ObjectMeta' | 'ListMeta'): JsonSchema {
  const struct = structSchema(`meta.v1.${kind}`);
  if (struct !== undefined && !collector.has(`${META}${kind}`)) collector.add(struct);
  const reference = collector.reference(`${META}${kind}`);
  return collector.isVersion3 ? { description: 'Metadata of the object', allOf: [reference] } : reference;
}

/** What OpenAPI 2 has no words for. */
const ONLY_VERSION_3: ReadonlySet<string> = new Set(['nullable', 'oneOf', 'anyOf', 'allOf', 'not', 'default']);

/** A client that validates by OpenAPI 2 must not refuse what the server takes: what cannot be said is left open. */
function plainSchema(schema: JsonObject): JsonObject {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true || schema['x-kubernetes-int-or-string'] === true) {
    const { description } = schema;
    return description === undefined ? {} : { description };
  }
  const entries = Object.entries(schema).filter(([key]) => !ONLY_VERSION_3.has(key));
  const isNullable = schema['nullable'] === true;
  return Object.fromEntries(
    entries.filter(([key]) => !(isNullable && key === 'type')).map(([key, value]) => [key, plainPart(key, value)]),
  );
}

function plainPart(key: string, value: Json): Json {
  if (key === 'properties' && isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [name, isJsonObject(child) ? plainSchema(child) : child]),
    );
  }
  if ((key === 'items' || key === 'additionalProperties') && isJsonObject(value)) return plainSchema(value);
  return isJsonArray(value) ? [...value] : value;
}
