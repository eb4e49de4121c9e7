import {
  type FieldError,
  forbidden,
  invalid,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  notSupported,
  ownValue,
  required,
} from '@holdfast/machinery';
import { goStrings } from '../../validation/go-text.ts';
import { listIn, schemaIn, schemasIn } from './structure.ts';

/** Rules for a schema that depend on its position. */
interface Surroundings {
  /** The reason why a default is not allowed. */
  readonly noDefault?: string;
  readonly insideMetadata?: true;
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const RESOURCE_FIELDS: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);

/** Checks which parts of OpenAPI v3 the schemas of custom resources may use, and their combinations. */
export function openApiErrors(path: string, schema: JsonObject): readonly FieldError[] {
  const out: FieldError[] = [];
  validate(out, path, schema, { isRoot: true, around: {} });
  return out;
}

interface Position {
  readonly isRoot: boolean;
  readonly around: Surroundings;
}

const INNER: Position = { isRoot: false, around: {} };

function validate(out: FieldError[], path: string, schema: JsonObject, position: Position): void {
  validateAllowed(out, path, schema, position.around);
  if (schema['uniqueItems'] === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    out.push(forbidden(`${path}.uniqueItems`, detail));
  }
  validateBelow(out, path, schema, position);
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    out.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  validateMapType(out, path, schema);
  validateListType(out, path, schema);
  validateRules(out, path, schema);
}

const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'];

function validateAllowed(out: FieldError[], path: string, schema: JsonObject, around: Surroundings): void {
  const type = textIn(schema, 'type');
  if (type !== '' && !TYPES.includes(type)) out.push(notSupported(`${path}.type`, type, TYPES));
  if (ownValue(schema, 'default') !== undefined && around.noDefault !== undefined) {
    out.push(forbidden(`${path}.default`, `must not be set ${around.noDefault}`));
  }
  for (const key of UNSUPPORTED) {
    if (ownValue(schema, key) !== undefined) out.push(forbidden(`${path}.${key}`, `${key} is not supported`));
  }
  if (type === 'null') {
    out.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
  if (isJsonArray(ownValue(schema, 'items'))) {
    out.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (around.insideMetadata === true && schema['x-kubernetes-embedded-resource'] === true) {
    out.push(forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  }
}

function validateBelow(out: FieldError[], path: string, schema: JsonObject, position: Position): void {
  const { around, isRoot } = position;
  const additional = ownValue(schema, 'additionalProperties');
  const properties = schemasIn(schema, 'properties');
  if (additional !== undefined && additional !== true && properties.length > 0) {
    const detail = 'additionalProperties and properties are mutual exclusive';
    out.push(forbidden(`${path}.additionalProperties`, detail));
  }
  if (isJsonObject(additional)) {
    const noDefault = 'inside additionalProperties applying to object metadata';
    const below = around.insideMetadata === true ? { ...around, noDefault } : around;
    validate(out, `${path}.additionalProperties`, additional, { isRoot: false, around: below });
  }
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  for (const [name, property] of properties) {
    const isMeta = isResource && RESOURCE_FIELDS.has(name);
    const meta: Surroundings = {
      ...around,
      insideMetadata: true,
      ...(isRoot ? { noDefault: `in top-level ${name}` } : {}),
    };
    validate(out, `${path}.properties[${name}]`, property, { isRoot: false, around: isMeta ? meta : around });
  }
  const not = schemaIn(schema, 'not');
  if (not !== undefined) validate(out, `${path}.not`, not, INNER);
  for (const key of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [i, each] of listIn(schema, key).entries()) validate(out, `${path}.${key}[${i}]`, each, INNER);
  }
  const items = schemaIn(schema, 'items');
  if (items !== undefined) validate(out, `${path}.items`, items, { isRoot: false, around });
}

/** A type is missing or wrong. */
function wrongType(path: string, type: string, detail: string): FieldError {
  return type === '' ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail);
}

function validateMapType(out: FieldError[], path: string, schema: JsonObject): void {
  const mapType = ownValue(schema, 'x-kubernetes-map-type');
  if (mapType === undefined) return;
  const type = textIn(schema, 'type');
  if (type !== 'object') out.push(wrongType(path, type, 'must be object if x-kubernetes-map-type is specified'));
  if (mapType !== 'atomic' && mapType !== 'granular') {
    out.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  }
}

function validateListType(out: FieldError[], path: string, schema: JsonObject): void {
  const listType = ownValue(schema, 'x-kubernetes-list-type');
  const items = schemaIn(schema, 'items');
  const at = `${path}.x-kubernetes-list-type`;
  const type = textIn(schema, 'type');
  if (listType !== undefined && type !== 'array') {
    out.push(wrongType(path, type, 'must be array if x-kubernetes-list-type is specified'));
  } else if (listType === 'set' && items !== undefined) validateSetItems(out, `${path}.items`, items);
  if (listType !== undefined && listType !== 'atomic' && listType !== 'set' && listType !== 'map') {
    out.push(notSupported(at, listType, ['atomic', 'set', 'map']));
  }
  const keys = keysOf(schema);
  const needsMap = 'must be map if x-kubernetes-list-map-keys is non-empty';
  if (keys.length > 0 && listType === undefined) out.push(required(at, needsMap));
  else if (keys.length > 0 && listType !== 'map') out.push(invalid(at, listType, needsMap));
  if (listType === 'map') validateMapItems(out, path, { schema, items, keys });
  if (listType === 'map' || listType === 'set') validateIdentities(out, path, { listType, items, keys });
}

const keysOf = (schema: JsonObject): readonly string[] => {
  const keys = ownValue(schema, 'x-kubernetes-list-map-keys');
  return isJsonArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
};

/** Items of a set have one owner each. */
function validateSetItems(out: FieldError[], path: string, items: JsonObject): void {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const type = textIn(items, 'type');
  const listType = ownValue(items, 'x-kubernetes-list-type');
  if (type === 'array' && listType !== undefined && listType !== 'atomic') {
    out.push(invalid(`${path}.x-kubernetes-list-type`, listType, detail));
  }
  if (type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    out.push(invalid(`${path}.x-kubernetes-map-type`, listType ?? null, detail));
  }
}

interface MapList {
  readonly schema: JsonObject;
  readonly items: JsonObject | undefined;
  readonly keys: readonly string[];
}

function validateMapItems(out: FieldError[], path: string, { schema, items, keys }: MapList): void {
  const at = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) out.push(required(at, 'must not be empty if x-kubernetes-list-type is map'));
  if (ownValue(schema, 'items') === undefined) {
    out.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
  }
  if (items === undefined) return;
  const type = textIn(items, 'type');
  if (type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    out.push(invalid(`${path}.items.type`, type, detail));
    return;
  }
  const properties = schemaIn(items, 'properties') ?? {};
  for (const [i, key] of keys.entries()) {
    const property = schemaIn(properties, key);
    const keyType = property === undefined ? '' : textIn(property, 'type');
    if (property === undefined) out.push(invalid(at, goStrings(keys), 'entries must all be names of item properties'));
    else if (keyType === 'array' || keyType === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      out.push(invalid(`${path}.items.properties[${key}].type`, type, detail));
    }
    if (keys.indexOf(key) < i) out.push(invalid(at, goStrings(keys), 'must not contain duplicate entries'));
  }
}

/** Each item must have all keys. */
function validateIdentities(
  out: FieldError[],
  path: string,
  { listType, items, keys }: Omit<MapList, 'schema'> & { readonly listType: 'set' | 'map' },
): void {
  if (items === undefined) return;
  if (items['nullable'] === true) {
    out.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  }
  if (listType === 'set') return;
  const requiredKeys = ownValue(items, 'required');
  const properties = schemaIn(items, 'properties') ?? {};
  for (const key of keys) {
    const property = schemaIn(properties, key);
    if (property === undefined) continue;
    const at = `${path}.items.properties[${key}]`;
    const isRequired = isJsonArray(requiredKeys) && requiredKeys.includes(key);
    if (!isRequired && ownValue(property, 'default') === undefined) {
      const detail =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      out.push(required(`${at}.default`, detail));
    }
    if (property['nullable'] === true) {
      const detail = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable';
      out.push(forbidden(`${at}.nullable`, detail));
    }
  }
}

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** Checks rules independently of their expressions. */
function validateRules(out: FieldError[], path: string, schema: JsonObject): void {
  for (const [i, rule] of listIn(schema, 'x-kubernetes-validations').entries()) {
    const at = `${path}.x-kubernetes-validations[${i}]`;
    const [text, message] = [textIn(rule, 'rule').trim(), textIn(rule, 'message')];
    if (text === '') out.push(required(`${at}.rule`, 'rule is not specified'));
    else if (message !== '' && message.trim() === '') {
      out.push(invalid(`${at}.message`, message, 'message must be non-empty if specified'));
    } else if (hasLineBreak(message.trim())) {
      out.push(invalid(`${at}.message`, message, 'message must not contain line breaks'));
    } else if (hasLineBreak(text) && message === '') {
      out.push(required(`${at}.message`, 'message must be specified if rule contains line breaks'));
    }
    const expression = textIn(rule, 'messageExpression');
    if (expression !== '' && expression.trim() === '') {
      out.push(required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified'));
    }
    const reason = ownValue(rule, 'reason');
    if (reason !== undefined && !REASONS.some((each) => each === reason)) {
      out.push(notSupported(`${at}.reason`, reason, REASONS));
    }
    validateFieldPath(out, `${at}.fieldPath`, { path: textIn(rule, 'fieldPath'), schema });
  }
}

function validateFieldPath(
  out: FieldError[],
  at: string,
  { path, schema }: { readonly path: string; readonly schema: JsonObject },
): void {
  if (path === '') return;
  if (path.trim() === '') out.push(invalid(at, path, 'fieldPath must be non-empty if specified'));
  if (hasLineBreak(path)) out.push(invalid(at, path, 'fieldPath must not contain line breaks'));
  if (!leadsSomewhere(path, schema)) out.push(invalid(at, path, 'fieldPath must be a valid path'));
}

/** True for `.spec.a`, `['a']` and keys of maps that exist in the schema; lists have no fields. */
export function leadsSomewhere(path: string, schema: JsonObject): boolean {
  return schemaAt(path, schema) !== undefined;
}

const STEP = /^(?:\.([A-Za-z_$][\w$-]*)|\['((?:[^'\\]|\\.)*)'\])/;

/** Returns the schema of a field; `undefined` when the path leads to none. */
export function schemaAt(path: string, root: JsonObject): JsonObject | undefined {
  let schema: JsonObject | undefined = root;
  let rest = path;
  while (rest !== '' && schema !== undefined) {
    const found = STEP.exec(rest);
    if (found === null) return undefined;
    const name = found[1] ?? (found[2] ?? '').replace(/\\(.)/gs, '$1');
    const property: JsonObject | undefined = schemaIn(schemaIn(schema, 'properties') ?? {}, name);
    schema = property ?? schemaIn(schema, 'additionalProperties');
    rest = rest.slice(found[0].length);
  }
  return schema;
}

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

const textIn = (schema: JsonObject, key: string): string => {
  const value: Json | undefined = ownValue(schema, key);
  return typeof value === 'string' ? value : '';
};
