import { isJsonArray, isJsonObject, type Json, type JsonObject } from '@holdfast/machinery';
import { BODY_DEPTH_MAX } from '../limits.ts';

/** Schemas of an OpenAPI 2 document that another server wrote. */

export const DEFINITION_PREFIX = '#/definitions/';

const isText = (value: Json): boolean => typeof value === 'string';
/** `1e999` is valid JSON, but no number: written again it becomes `null`. */
const isNumber = (value: Json): boolean => Number.isFinite(value);
const isInteger = (value: Json): boolean => Number.isSafeInteger(value);
const isFlag = (value: Json): boolean => typeof value === 'boolean';
const isTexts = (value: Json): boolean => isJsonArray(value) && value.every(isText);
const TYPES: ReadonlySet<Json> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

type Check = (value: Json) => boolean;

/** Members that hold no schemas. Clients decode the whole document into typed fields: one wrong type makes all of it unreadable. */
const PLAIN_MEMBERS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...['title', 'description', 'format', 'pattern'].map((key) => [key, isText] as const),
  ...['multipleOf', 'maximum', 'minimum'].map((key) => [key, isNumber] as const),
  ...['maxLength', 'minLength', 'maxItems', 'minItems'].map((key) => [key, isInteger] as const),
  ...['maxProperties', 'minProperties'].map((key) => [key, isInteger] as const),
  ...['exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems'].map((key) => [key, isFlag] as const),
  ['required', isTexts],
  ['enum', (value) => isJsonArray(value) && !isTooDeep(value)],
  ['default', (value) => !isTooDeep(value)],
  ['type', (value) => TYPES.has(value)],
]);

/** Values of any form are written by recursive functions, which end with an error at a few thousand levels. */
function isTooDeep(value: Json, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > BODY_DEPTH_MAX || Object.values(value).some((each) => isTooDeep(each, depth + 1));
}

/** Throws for an extension (`x-...`) that is nested too deeply. */
export function extensionValue(key: string, value: Json): Json {
  if (isTooDeep(value)) throw new Error(`the member ${key} is nested more than ${BODY_DEPTH_MAX} levels deep`);
  return value;
}

export type RenameReference = (definition: string) => string;

/**
 * A copy of the schema, with every reference renamed. Throws when a client could not read it. Members that OpenAPI 2 does not
 * have are left out.
 */
export function copySchema(schema: Json | undefined, rename: RenameReference, depth = 0): JsonObject {
  if (!isJsonObject(schema)) throw new Error('a schema is not an object');
  if (depth > BODY_DEPTH_MAX) throw new Error(`a schema is nested more than ${BODY_DEPTH_MAX} levels deep`);
  if (schema['type'] === 'array' && !isJsonObject(schema['items'])) throw new Error('an array has no schema of items');
  const copied: [string, Json][] = [];
  for (const [key, value] of Object.entries(schema)) {
    const member = copyMember(key, value, (child) => copySchema(child, rename, depth + 1));
    if (key === '$ref') copied.push([key, renamedReference(value, rename)]);
    else if (member !== undefined) copied.push([key, member]);
  }
  return Object.fromEntries(copied);
}

function copyMember(key: string, value: Json, copy: (child: Json) => JsonObject): Json | undefined {
  if (key.startsWith('x-')) return extensionValue(key, value);
  const isRight = PLAIN_MEMBERS.get(key);
  if (isRight !== undefined) {
    if (!isRight(value)) throw new Error(`the member ${key} of a schema has a wrong type`);
    return value;
  }
  if (key === 'properties') return Object.fromEntries(entriesOf(value).map(([name, child]) => [name, copy(child)]));
  if (key === 'items') return copy(value);
  if (key === 'additionalProperties') return typeof value === 'boolean' ? value : copy(value);
  return key === 'allOf' && isJsonArray(value) ? value.map(copy) : undefined;
}

function renamedReference(value: Json, rename: RenameReference): string {
  if (typeof value !== 'string' || !value.startsWith(DEFINITION_PREFIX)) {
    throw new Error('a reference does not lead to a definition');
  }
  return `${DEFINITION_PREFIX}${rename(value.slice(DEFINITION_PREFIX.length))}`;
}

export function entriesOf(value: Json | undefined): readonly (readonly [string, Json])[] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) throw new Error('a member of the document is not an object');
  return Object.entries(value);
}
