import { structSchema } from '@holdfast/api';
import { isJsonArray, isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import type { ServedKind } from '../endpoints/served-kinds.ts';
import { groupVersion, listKindName } from '../objects/object-keys.ts';
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
  collector.addRaw(name, {
    ...contentOf(collector, custom.openApi()),
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

/** Older clients refuse what properties do not name: where anything may stand at the root, version 2 names none. */
function contentOf(collector: SchemaCollector, openApi: JsonObject): JsonSchema {
  if (!collector.isVersion3 && openApi[PRESERVES_UNKNOWN] === true) return { type: 'object' };
  const schema = collector.isVersion3 ? openApi : plainSchema(openApi);
  return {
    ...schema,
    properties: { ...propertiesOf(schema), ...TYPE_FIELDS, metadata: metaOf(collector, 'ObjectMeta') },
  };
}

const TYPE_FIELDS = {
  apiVersion: { description: 'APIVersion defines by which version of its schema this object is read', type: 'string' },
  kind: { description: 'Kind is the name of the schema of this object', type: 'string' },
} as const;

function propertiesOf(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, 'properties');
  return isJsonObject(properties) ? properties : {};
}

function metaOf(collector: SchemaCollector, kind: 'ObjectMeta' | 'ListMeta'): JsonSchema {
  const struct = structSchema(`meta.v1.${kind}`);
  if (struct !== undefined && !collector.has(`${META}${kind}`)) collector.add(struct);
  const reference = collector.reference(`${META}${kind}`);
  const description = "Standard object's metadata, which every object has";
  return collector.isVersion3 ? { description, allOf: [reference] } : { description, ...reference };
}

const PRESERVES_UNKNOWN = 'x-kubernetes-preserve-unknown-fields';

/** Keywords that OpenAPI 2 lacks. */
const ONLY_VERSION_3: ReadonlySet<string> = new Set(['nullable', 'oneOf', 'anyOf', 'allOf', 'not', 'default']);
const NONE: ReadonlySet<string> = new Set();
const OF_UNTYPED: ReadonlySet<string> = new Set(['type', 'items', 'properties']);
const OF_OPEN: ReadonlySet<string> = new Set(['items', 'properties']);

/** A client that validates with OpenAPI 2 must not refuse valid objects: unsupported parts are left open. */
function plainSchema(schema: JsonObject): JsonObject {
  const isOpen = schema[PRESERVES_UNKNOWN] === true;
  const left = schema['nullable'] === true ? OF_UNTYPED : isOpen ? OF_OPEN : NONE;
  const entries = Object.entries(schema)
    .filter(([key]) => !ONLY_VERSION_3.has(key) && !left.has(key))
    .map(([key, value]) => [key, key === 'required' ? requiredOf(schema) : plainPart(key, value)] as const)
    .filter(([key, value]) => key !== 'required' || (isJsonArray(value) && value.length > 0));
  const plain = Object.fromEntries(entries);
  const isUnclear = plain['type'] === 'array' ? !Object.hasOwn(plain, 'items') : isOpen && plain['type'] === 'object';
  if (isUnclear) delete plain['type'];
  return plain;
}

/** Fields that may be null are not required: older clients take null for absent. */
function requiredOf(schema: JsonObject): Json {
  const required = ownValue(schema, 'required');
  const additional = ownValue(schema, 'additionalProperties');
  if (!isJsonArray(required) || (isJsonObject(additional) && additional['nullable'] === true)) return [];
  const properties = propertiesOf(schema);
  return required.filter((name) => {
    const property = typeof name === 'string' ? ownValue(properties, name) : undefined;
    return !isJsonObject(property) || property['nullable'] !== true;
  });
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
