import {
  type FieldError,
  fieldErrorMessage,
  forbidden,
  invalid,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  required,
} from '@holdfast/machinery';
import { compilePattern } from '../../custom/patterns.ts';

/** The position of a schema determines how its missing type is reported. */
type Level = keyof typeof MISSING;

const MISSING = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
} as const;

/**
 * Every value of a schema must have a type, so that unknown fields can be reported and pruned. Errors are sorted by
 * text.
 */
export function structureErrors(path: string, schema: JsonObject): readonly FieldError[] {
  const out: FieldError[] = [];
  validateLevel(out, path, schema, 'root');
  validateCompleteness(out, path, schema);
  return out.toSorted((a, b) => (fieldErrorMessage(a) < fieldErrorMessage(b) ? -1 : 1));
}

const textIn = (schema: JsonObject, key: string): string => {
  const value = ownValue(schema, key);
  return typeof value === 'string' ? value : '';
};

export const schemaIn = (schema: JsonObject, key: string): JsonObject | undefined => {
  const value = ownValue(schema, key);
  return isJsonObject(value) ? value : undefined;
};

/** Returns schemas by name, in alphabetical order. */
export function schemasIn(schema: JsonObject, key: string): readonly (readonly [string, JsonObject])[] {
  const value = schemaIn(schema, key) ?? {};
  return Object.keys(value)
    .sort()
    .flatMap((name) => {
      const child: Json | undefined = value[name];
      return isJsonObject(child) ? [[name, child] as const] : [];
    });
}

export const listIn = (schema: JsonObject, key: string): readonly JsonObject[] => {
  const value = ownValue(schema, key);
  return isJsonArray(value) ? value.filter(isJsonObject) : [];
};

const isTrue = (schema: JsonObject, key: string): boolean => schema[key] === true;

const EMBEDDED = 'x-kubernetes-embedded-resource';
const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const INT_OR_STRING = 'x-kubernetes-int-or-string';

function validateLevel(out: FieldError[], path: string, schema: JsonObject, level: Level): void {
  const type = textIn(schema, 'type');
  if (type === 'array' && ownValue(schema, 'items') === undefined) {
    out.push(required(`${path}.items`, 'must be specified'));
  }
  validateParts(out, path, schema, level);
  const skips = intOrStringPattern(schema);
  validateJunctors(out, path, schema, skips);
  validateType(out, path, schema, level);
  if (isTrue(schema, EMBEDDED) && ownValue(schema, 'additionalProperties') !== undefined) {
    out.push(forbidden(`${path}.additionalProperties`, `must not be used if ${EMBEDDED} is set`));
  }
  validateResourceFields(out, path, schema, level);
  if (isTrue(schema, EMBEDDED) && !isTrue(schema, PRESERVE) && schemasIn(schema, 'properties').length === 0) {
    const detail = `must not be empty if ${EMBEDDED} is true without ${PRESERVE}`;
    out.push(required(`${path}.properties`, detail));
  }
}

function validateParts(out: FieldError[], path: string, schema: JsonObject, level: Level): void {
  const items = schemaIn(schema, 'items');
  if (items !== undefined) validateLevel(out, `${path}.items`, items, 'item');
  for (const [name, property] of schemasIn(schema, 'properties')) {
    validateLevel(out, `${path}.properties[${name}]`, property, 'field');
  }
  const additional = ownValue(schema, 'additionalProperties');
  if (additional === undefined) return;
  if (level === 'root') out.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  if (isJsonObject(additional)) validateLevel(out, `${path}.additionalProperties`, additional, 'field');
}

function validateType(out: FieldError[], path: string, schema: JsonObject, level: Level): void {
  const type = textIn(schema, 'type');
  const at = `${path}.type`;
  if (isTrue(schema, EMBEDDED) && type !== 'object') {
    const detail = `must be object if ${EMBEDDED} is true`;
    out.push(type === '' ? required(at, detail) : invalid(at, type, detail));
  } else if (type === '' && !isTrue(schema, INT_OR_STRING) && !isTrue(schema, PRESERVE)) {
    out.push(required(at, MISSING[level]));
  }
  if (level === 'root' && type !== '' && type !== 'object') out.push(invalid(at, type, 'must be object at the root'));
}

function validateResourceFields(out: FieldError[], path: string, schema: JsonObject, level: Level): void {
  const isResource = level === 'root' || isTrue(schema, EMBEDDED);
  const properties = schemaIn(schema, 'properties') ?? {};
  for (const key of ['kind', 'apiVersion'] as const) {
    const property = schemaIn(properties, key);
    if (!isResource || property === undefined || textIn(property, 'type') === 'string') continue;
    out.push(invalid(`${path}.properties[${key}].type`, textIn(property, 'type'), 'must be string'));
  }
  const metadata = schemaIn(properties, 'metadata');
  if (metadata === undefined) return;
  const at = `${path}.properties[metadata]`;
  if (isResource && textIn(metadata, 'type') !== 'object') {
    out.push(invalid(`${at}.type`, textIn(metadata, 'type'), 'must be object'));
  }
  if (level === 'root' && !isPlainMetadata(metadata)) {
    const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    out.push(forbidden(at, detail));
  }
}

/** A schema may restrict only the names in metadata. */
function isPlainMetadata(metadata: JsonObject): boolean {
  const { type: _type, default: _default, properties = {}, ...rest } = metadata;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return Object.keys(rest).length === 0 && names.every((name) => name === 'name' || name === 'generateName');
}

interface Skips {
  readonly anyOf: boolean;
  readonly firstAllOf: boolean;
}

/** Int-or-string is the only pattern whose alternatives name types. */
function intOrStringPattern(schema: JsonObject): Skips {
  if (!isTrue(schema, INT_OR_STRING)) return NOTHING_SKIPPED;
  return { anyOf: isIntOrString(schema), firstAllOf: isIntOrString(listIn(schema, 'allOf')[0] ?? {}) };
}

const NOTHING_SKIPPED: Skips = { anyOf: false, firstAllOf: false };

function isIntOrString(schema: JsonObject): boolean {
  const [first, second, ...more] = listIn(schema, 'anyOf');
  const isOnlyType = (of: JsonObject | undefined, type: string): boolean =>
    of !== undefined && Object.keys(of).length === 1 && textIn(of, 'type') === type;
  return more.length === 0 && isOnlyType(first, 'integer') && isOnlyType(second, 'string');
}

function validateJunctors(out: FieldError[], path: string, schema: JsonObject, skips: Skips): void {
  if (!skips.anyOf)
    for (const [i, each] of listIn(schema, 'anyOf').entries()) validateNested(out, `${path}.anyOf[${i}]`, each);
  for (const [i, each] of listIn(schema, 'allOf').entries()) {
    const own = { anyOf: skips.firstAllOf && i === 0, firstAllOf: false };
    validateNested(out, `${path}.allOf[${i}]`, each, own);
  }
  for (const [i, each] of listIn(schema, 'oneOf').entries()) validateNested(out, `${path}.oneOf[${i}]`, each);
  const not = schemaIn(schema, 'not');
  if (not !== undefined) validateNested(out, `${path}.not`, not);
  const pattern = textIn(schema, 'pattern');
  if (pattern === '') return;
  const { problem } = compilePattern(pattern);
  if (problem === undefined) return;
  const detail = `must be a valid regular expression, but isn't: ${problem}`;
  out.push(invalid(`${path}.pattern`, pattern, detail));
}

/** Fields that are forbidden inside alternatives, and how they are reported. */
const FORBIDDEN_INSIDE: readonly (readonly [string, 'empty' | 'undefined' | 'false'])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  [PRESERVE, 'false'],
  [EMBEDDED, 'false'],
  [INT_OR_STRING, 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
];

/** A schema inside alternatives only validates values. */
function validateNested(out: FieldError[], path: string, schema: JsonObject, skips: Skips = NOTHING_SKIPPED): void {
  validateJunctors(out, path, schema, skips);
  const items = schemaIn(schema, 'items');
  if (items !== undefined) validateNested(out, `${path}.items`, items);
  for (const [name, property] of schemasIn(schema, 'properties')) {
    validateNested(out, `${path}.properties[${name}]`, property);
  }
  for (const [key, wanted] of FORBIDDEN_INSIDE) {
    if (isSet(ownValue(schema, key))) out.push(forbidden(`${path}.${key}`, `must be ${wanted} to be structural`));
  }
  if (schemaIn(schemaIn(schema, 'properties') ?? {}, 'metadata') !== undefined) {
    out.push(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  }
}

const isSet = (value: Json | undefined): boolean =>
  value !== undefined && value !== '' && value !== false && !(isJsonArray(value) && value.length === 0);

/** The type of every value in alternatives must be declared outside of them. */
function validateCompleteness(out: FieldError[], path: string, schema: JsonObject): void {
  validateComplete(out, { path, schema }, { path, schema });
  const items = schemaIn(schema, 'items');
  if (items !== undefined) validateCompleteness(out, `${path}.items`, items);
  for (const [name, property] of schemasIn(schema, 'properties')) {
    validateCompleteness(out, `${path}.properties[${name}]`, property);
  }
  const additional = schemaIn(schema, 'additionalProperties');
  if (additional !== undefined) validateCompleteness(out, `${path}.additionalProperties`, additional);
}

interface Placed {
  readonly path: string;
  readonly schema: JsonObject;
}

/** `judged` mentions values that `described` must declare. */
function validateComplete(out: FieldError[], judged: Placed, described: Placed): void {
  const nested: Placed[] = [];
  const not = schemaIn(judged.schema, 'not');
  if (not !== undefined) nested.push({ path: `${judged.path}.not`, schema: not });
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [i, schema] of listIn(judged.schema, key).entries())
      nested.push({ path: `${judged.path}.${key}[${i}]`, schema });
  }
  for (const each of nested) validateNestedComplete(out, each, described);
}

function validateNestedComplete(out: FieldError[], judged: Placed, described: Placed): void {
  validateComplete(out, judged, described);
  const below = (step: string, schema: JsonObject, target: JsonObject | undefined): void => {
    const at = { path: `${judged.path}.${step}`, schema };
    const path = `${described.path}.${step}`;
    if (target === undefined) out.push(required(path, `because it is defined in ${at.path}`));
    else validateNestedComplete(out, at, { path, schema: target });
  };
  const items = schemaIn(judged.schema, 'items');
  if (items !== undefined) below('items', items, schemaIn(described.schema, 'items'));
  const properties = schemaIn(described.schema, 'properties') ?? {};
  for (const [name, property] of schemasIn(judged.schema, 'properties')) {
    below(`properties[${name}]`, property, schemaIn(properties, name));
  }
}
