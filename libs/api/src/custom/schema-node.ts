import { isJsonArray, isJsonObject, isNumeric, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import { defaultSize } from './default-room.ts';
import { EnumValues } from './enum-values.ts';
import { isCheckedFormat } from './formats.ts';

/** One level of a custom resource schema, parsed once so that writes need no lookup in JSON. */
export interface SchemaNode {
  /** Empty means any type. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  /** '' for formats that are not checked. */
  readonly format: string;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** The schema of a map's values. */
  readonly additional: SchemaNode | undefined;
  readonly items: SchemaNode | undefined;
  readonly required: readonly string[];
  readonly enum: EnumValues | undefined;
  readonly limits: Limits;
  readonly pattern: string | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  readonly default: Json | undefined;
  /** What a copy of the default takes. */
  readonly defaultSize: number;
  readonly preservesUnknown: boolean;
  /** `additionalProperties: true`: any key, with any value. */
  readonly isOpenMap: boolean;
  readonly embedded: boolean;
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys: readonly string[];
  /** What this level or a lower one contains: levels without it are skipped. */
  readonly has: { readonly defaults: boolean; readonly identities: boolean; readonly embedded: boolean };
}

export interface Limits {
  readonly minimum?: number;
  readonly exclusiveMinimum: boolean;
  readonly maximum?: number;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

export function schemaNode(schema: JsonObject): SchemaNode {
  const properties = nodesByName(ownValue(schema, 'properties'));
  const additional = nodeOf(ownValue(schema, 'additionalProperties'));
  const items = nodeOf(ownValue(schema, 'items'));
  const node = {
    types: typesOf(schema),
    nullable: schema['nullable'] === true,
    format: formatOf(schema),
    properties,
    additional,
    items,
    required: textsOf(ownValue(schema, 'required')),
    enum: enumOf(ownValue(schema, 'enum')),
    limits: limitsOf(schema),
    pattern: textOf(ownValue(schema, 'pattern')),
    allOf: nodesOf(ownValue(schema, 'allOf')),
    anyOf: nodesOf(ownValue(schema, 'anyOf')),
    oneOf: nodesOf(ownValue(schema, 'oneOf')),
    not: nodeOf(ownValue(schema, 'not')),
    default: ownValue(schema, 'default'),
    defaultSize: defaultSize(ownValue(schema, 'default')),
    preservesUnknown: schema['x-kubernetes-preserve-unknown-fields'] === true,
    isOpenMap: schema['additionalProperties'] === true,
    embedded: schema['x-kubernetes-embedded-resource'] === true,
    ...identityOf(schema),
  };
  const below = [...properties.values(), additional, items].filter((each) => each !== undefined);
  return {
    ...node,
    has: {
      defaults: node.default !== undefined || below.some(({ has }) => has.defaults),
      identities: node.listType !== 'atomic' || below.some(({ has }) => has.identities),
      embedded: node.embedded || below.some(({ has }) => has.embedded),
    },
  };
}

function typesOf(schema: JsonObject): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  const type = ownValue(schema, 'type');
  return typeof type === 'string' && type !== '' ? [type] : [];
}

function formatOf(schema: JsonObject): string {
  const format = textOf(ownValue(schema, 'format'))?.replaceAll('-', '') ?? '';
  return isCheckedFormat(format) ? format : '';
}

function limitsOf(schema: JsonObject): Limits {
  const limits: Partial<Record<(typeof NUMBERS)[number], number>> = {};
  for (const name of NUMBERS) {
    const value = ownValue(schema, name);
    if (isNumeric(value)) limits[name] = Number(value);
  }
  return {
    ...limits,
    exclusiveMinimum: schema['exclusiveMinimum'] === true,
    exclusiveMaximum: schema['exclusiveMaximum'] === true,
  };
}

const NUMBERS = [
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;

function identityOf(schema: JsonObject): Pick<SchemaNode, 'listType' | 'mapKeys'> {
  const type = ownValue(schema, 'x-kubernetes-list-type');
  return {
    listType: type === 'set' || type === 'map' ? type : 'atomic',
    mapKeys: textsOf(ownValue(schema, 'x-kubernetes-list-map-keys')),
  };
}

const nodeOf = (value: Json | undefined): SchemaNode | undefined =>
  isJsonObject(value) ? schemaNode(value) : undefined;

const nodesOf = (value: Json | undefined): readonly SchemaNode[] =>
  isJsonArray(value) ? value.filter(isJsonObject).map(schemaNode) : [];

/** Sorted by name: Kubernetes reports field errors in no fixed order. */
function nodesByName(value: Json | undefined): ReadonlyMap<string, SchemaNode> {
  const nodes = new Map<string, SchemaNode>();
  if (!isJsonObject(value)) return nodes;
  for (const name of Object.keys(value).sort()) {
    const node = nodeOf(value[name]);
    if (node !== undefined) nodes.set(name, node);
  }
  return nodes;
}

const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

const textsOf = (value: Json | undefined): readonly string[] =>
  isJsonArray(value) ? value.filter((each) => typeof each === 'string') : [];

const enumOf = (value: Json | undefined): EnumValues | undefined =>
  isJsonArray(value) && value.length > 0 ? new EnumValues(value) : undefined;
