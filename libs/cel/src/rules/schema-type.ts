import { BOOL, type CelType, DOUBLE, INT, type ListType, type ObjectField, STRING } from '../types.ts';
import { escapeName } from './names.ts';
import { entriesOf, numberAt, objectAt, type Schema, textAt, textsAt } from './schema.ts';

/** A type, and the minimum bytes of one of its values in a request. */
export interface SizedType {
  readonly type: CelType;
  readonly minBytes: number;
}

const MAX_REQUEST_BYTES = 3 * 1024 * 1024;
const MIN_SCALAR_BYTES = 1;
const MIN_BOOL_BYTES = 4;
const MIN_TEXT_BYTES = 2;
const MIN_DURATION_BYTES = 4;
const MAX_DURATION_BYTES = 32;
const DATE_BYTES = 12;
const MIN_DATE_TIME_BYTES = 22;
const MAX_DATE_TIME_BYTES = 37;
const BYTES_PER_CHARACTER = 4;

/** Returns the type of a schema in expressions; `undefined` when expressions cannot see it. */
export function typeOfSchema(schema: Schema, isResource: boolean): SizedType | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    return {
      type: { kind: 'dyn', maxElements: maxCharacters(schema, MAX_REQUEST_BYTES - 2) },
      minBytes: MIN_SCALAR_BYTES,
    };
  }
  switch (schema['type']) {
    case 'array':
      return arrayType(schema);
    case 'object':
      return objectType(schema, isResource);
    case 'string':
      return textType(schema);
    case 'boolean':
      return { type: BOOL, minBytes: MIN_BOOL_BYTES };
    case 'number':
      return { type: DOUBLE, minBytes: MIN_SCALAR_BYTES };
    case 'integer':
      return { type: INT, minBytes: MIN_SCALAR_BYTES };
    default:
      return undefined;
  }
}

export function isEmbedded(schema: Schema): boolean {
  return schema['x-kubernetes-embedded-resource'] === true;
}

function arrayType(schema: Schema): SizedType | undefined {
  const items = objectAt(schema, 'items');
  const element = items === undefined ? undefined : typeOfSchema(items, isEmbedded(items));
  if (element === undefined) return undefined;
  const maxElements = numberAt(schema, 'maxItems') ?? Math.floor((MAX_REQUEST_BYTES - 2) / (element.minBytes + 1));
  const base: ListType = { kind: 'list', element: element.type, maxElements: Math.max(0, maxElements) };
  const listType = textAt(schema, 'x-kubernetes-list-type');
  if (listType === 'set') return { type: { ...base, listType }, minBytes: 2 };
  if (listType !== 'map') return { type: base, minBytes: 2 };
  const mapKeys = textsAt(schema, 'x-kubernetes-list-map-keys').map((key) => escapeName(key) ?? key);
  return { type: { ...base, listType, mapKeys }, minBytes: 2 };
}

function objectType(schema: Schema, isResource: boolean): SizedType | undefined {
  const additional = objectAt(schema, 'additionalProperties');
  if (additional !== undefined) return mapType(schema, additional);
  const required = new Set(textsAt(schema, 'required'));
  const fields = new Map<string, ObjectField>();
  let minBytes = 2;
  for (const [name, property] of entriesOf(objectAt(schema, 'properties'))) {
    const field = typeOfSchema(property, isEmbedded(property));
    if (field === undefined) continue;
    const escaped = escapeName(name);
    if (escaped !== undefined) fields.set(escaped, { property: name, type: field.type });
    if (required.has(name) && property['default'] === undefined) minBytes += name.length + field.minBytes + 4;
  }
  if (isResource) addResourceFields(fields);
  return { type: { kind: 'object', name: 'object', fields }, minBytes };
}

function mapType(schema: Schema, additional: Schema): SizedType | undefined {
  const value = typeOfSchema(additional, isEmbedded(additional));
  if (value === undefined) return undefined;
  const declared = numberAt(schema, 'maxProperties');
  const maxElements = declared ?? Math.floor((MAX_REQUEST_BYTES - 2) / (value.minBytes + 6));
  const key: CelType = { kind: 'string', maxElements: 0 };
  return { type: { kind: 'map', key, value: value.type, maxElements: Math.max(0, maxElements) }, minBytes: 2 };
}

/** Adds the fields that every resource has, even when its schema does not declare them. */
function addResourceFields(fields: Map<string, ObjectField>): void {
  const text: CelType = { ...STRING, maxElements: MAX_REQUEST_BYTES - 2 };
  const metadata: CelType = {
    kind: 'object',
    name: 'object',
    fields: new Map([
      ['name', { property: 'name', type: text }],
      ['generateName', { property: 'generateName', type: text }],
    ]),
  };
  fields.set('apiVersion', { property: 'apiVersion', type: text });
  fields.set('kind', { property: 'kind', type: text });
  const declared = fields.get('metadata')?.type;
  if (declared?.kind !== 'object' || !declared.fields.has('name') || !declared.fields.has('generateName')) {
    fields.set('metadata', { property: 'metadata', type: metadata });
  }
}

function textType(schema: Schema): SizedType {
  switch (schema['format']) {
    case 'byte': {
      const maxElements = numberAt(schema, 'maxLength') ?? MAX_REQUEST_BYTES - 2;
      return { type: { kind: 'bytes', maxElements: Math.max(0, maxElements) }, minBytes: MIN_TEXT_BYTES };
    }
    case 'duration':
      return { type: { kind: 'duration', maxElements: MAX_DURATION_BYTES }, minBytes: MIN_DURATION_BYTES };
    case 'date':
      return { type: { kind: 'timestamp', maxElements: DATE_BYTES }, minBytes: DATE_BYTES };
    case 'date-time':
      return { type: { kind: 'timestamp', maxElements: MAX_DATE_TIME_BYTES }, minBytes: MIN_DATE_TIME_BYTES };
    default:
      return {
        type: { kind: 'string', maxElements: maxCharacters(schema, longest(schema)) },
        minBytes: MIN_TEXT_BYTES,
      };
  }
}

/** Schemas declare lengths in characters of up to four bytes. */
function maxCharacters(schema: Schema, otherwise: number): number {
  const declared = numberAt(schema, 'maxLength');
  return declared === undefined ? otherwise : Math.max(0, declared) * BYTES_PER_CHARACTER;
}

function longest(schema: Schema): number {
  const values = schema['enum'];
  if (!Array.isArray(values) || values.length === 0) return MAX_REQUEST_BYTES - 2;
  let length = 0;
  for (const value of values) if (typeof value === 'string') length = Math.max(length, value.length);
  return length;
}

/** Returns how often a value can occur in one request. */
export function maxOccurrences(minBytes: number): number {
  return Math.floor(MAX_REQUEST_BYTES / (minBytes + 1));
}
