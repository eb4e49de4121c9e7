import {
  deepEqual,
  type FieldError,
  invalid,
  isJsonArray,
  isJsonObject,
  isNumeric,
  type Json,
  type JsonObject,
  notSupported,
  ownValue,
  required,
  tooLong,
  tooMany,
} from '@holdfast/machinery';
import { Effort, EffortExceeded } from './effort.ts';
import { fitsFormat } from './formats.ts';
import { isAssociative, keyOfItem } from './list-types.ts';
import { numberErrors } from './number-limits.ts';
import { compilePattern } from './patterns.ts';
import type { SchemaNode } from './schema-node.ts';

/** Maximum number of reported errors: a large object with one error per item must not produce a huge response. */
const ERRORS_MAX = 1_000;
/** The field of every error without a field of its own. Kubernetes prints an empty path like this. */
const NOWHERE = '<nil>';

/**
 * Returns the schema errors of a value, in the words of Kubernetes 1.32. A value equal to its old value is not checked:
 * it may stay as it is.
 */
export function schemaErrors(value: Json, schema: SchemaNode, given: Given = {}): readonly FieldError[] {
  const { old, root = NOWHERE, effort } = given;
  const findings = new Findings(root, effort);
  try {
    check(findings, value, schema, { path: '', old });
    return findings.errors;
  } catch (error) {
    if (!(error instanceof EffortExceeded)) throw error;
    return [invalid(root, '', error.message)];
  }
}

export interface Given {
  readonly old?: Json;
  /** The field of errors of the value itself. */
  readonly root?: string;
  /** Absent: the value has an effort of its own. */
  readonly effort?: Effort;
}

class Findings {
  readonly errors: FieldError[] = [];
  readonly root: string;
  /** Shared by all checks of one object. */
  readonly effort: Effort;
  /** Number of checks made. Of several schemas that do not fit, the one with the most checks is reported. */
  checks = 0;

  constructor(root: string, effort = new Effort()) {
    this.root = root;
    this.effort = effort;
  }

  get isFull(): boolean {
    return this.errors.length >= ERRORS_MAX;
  }

  add(...errors: readonly FieldError[]): void {
    if (!this.isFull) this.errors.push(...errors);
  }

  merge(other: Findings): void {
    this.add(...other.errors);
    this.checks += other.checks;
  }

  at(path: string): string {
    if (path === '') return this.root;
    return this.root === NOWHERE ? path : `${this.root}.${path}`;
  }
}

interface Place {
  readonly path: string;
  /** The value before the update; `undefined` when there was none. */
  readonly old: Json | undefined;
}

function check(out: Findings, value: Json, schema: SchemaNode, place: Place): void {
  // What is not told is not looked for.
  if (out.isFull) return;
  out.effort.spend(1);
  if (place.old !== undefined && deepEqual(value, place.old)) return;
  if (value === null) {
    checkType(out, value, schema, place.path);
    checkEnum(out, value, schema, place.path);
    return;
  }
  if (schema.types.length > 0 || schema.format !== '') {
    checkType(out, value, schema, place.path);
    out.checks += 1;
  }
  checkJunctors(out, value, schema, place.path);
  if (typeof value === 'string') checkText(out, value, schema, place.path);
  else if (isNumeric(value)) {
    out.add(...numberErrors(value, schema.limits, { field: out.at(place.path), path: place.path }));
    out.checks += 1;
  } else if (isJsonArray(value)) checkItems(out, value, schema, place);
  checkEnum(out, value, schema, place.path);
  if (isJsonObject(value)) checkFields(out, value, schema, place);
  out.checks += 1;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  // A large number that is written with a fraction or an exponent, or is beyond 64 bits, is no integer.
  if (isNumeric(value)) return typeof value === 'bigint' || Number.isSafeInteger(value) ? 'integer' : 'number';
  if (isJsonArray(value)) return 'array';
  return typeof value;
}

function checkType(out: Findings, value: Json, { types, nullable, format }: SchemaNode, path: string): void {
  if (types.length === 0) return;
  if (value === null) {
    if (!nullable) out.add(wrongType(out, path, types.join(','), 'null'));
    return;
  }
  const found = typeOf(value);
  const isNumeric = types.includes('integer') || types.includes('number');
  if (!isNumeric && format !== '' && (found === 'string' || found === 'array')) return;
  if (types.includes(found) || (found === 'integer' && types.includes('number'))) return;
  out.add(wrongType(out, path, types.join(','), found));
}

const wrongType = (out: Findings, path: string, wanted: string, found: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field: out.at(path),
  badValue: found,
  detail: `${path} in body must be of type ${wanted}: ${JSON.stringify(found)}`,
});

function checkEnum(out: Findings, value: Json, schema: SchemaNode, path: string): void {
  out.checks += 1;
  if (schema.enum === undefined || schema.enum.includes(value, out.effort.read)) return;
  out.add({ ...notSupported(out.at(path), value, []), detail: schema.enum.told });
}

/** Reports only the first error of a string. */
function checkText(out: Findings, text: string, schema: SchemaNode, path: string): void {
  out.checks += 1;
  out.effort.read(text.length);
  const error = textError(out, text, schema, path);
  if (error !== undefined) out.add(error);
  if (schema.format === '') return;
  out.checks += 1;
  if (!fitsFormat(schema.format, text)) out.add(wrongFormat(out, path, schema.format, text));
}

function textError(out: Findings, text: string, schema: SchemaNode, path: string): FieldError | undefined {
  const { minLength, maxLength } = schema.limits;
  const field = out.at(path);
  if (maxLength !== undefined && text.length > maxLength && charsOf(text) > maxLength) return tooLong(field, maxLength);
  if (minLength !== undefined && (text.length < minLength || charsOf(text) < minLength)) {
    return invalid(field, text, `${path} in body should be at least ${minLength} chars long`);
  }
  if (schema.pattern === undefined) return undefined;
  const { matches } = compilePattern(schema.pattern);
  if (matches?.(text, out.effort.match) === true) return undefined;
  return invalid(field, text, `${path} in body should match '${schema.pattern}'`);
}

function wrongFormat(out: Findings, path: string, format: string, text: string): FieldError {
  const wanted = format === 'datetime' ? 'date-time' : format;
  const detail = `${path} in body must be of type ${wanted}: ${JSON.stringify(text)}`;
  return { type: 'FieldValueTypeInvalid', field: out.at(path), badValue: text, detail };
}

/** Counts code points, as Go does. */
function charsOf(text: string): number {
  let chars = 0;
  for (const _ of text) chars += 1;
  return chars;
}

function checkItems(out: Findings, items: readonly Json[], schema: SchemaNode, { path, old }: Place): void {
  if (schema.items !== undefined) {
    const before = oldItems(schema, old);
    for (const [index, item] of items.entries()) {
      const place = { path: `${path}[${index}]`, old: before?.get(keyOfItem(schema, item)) };
      check(out, item, schema.items, place);
    }
  }
  const { minItems, maxItems } = schema.limits;
  if (minItems !== undefined && items.length < minItems) {
    out.add(invalid(out.at(path), items.length, `${path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && items.length > maxItems) out.add(tooMany(out.at(path), items.length, maxItems));
  out.checks += 1;
}

/** Only items with keys can be matched. */
function oldItems(schema: SchemaNode, old: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (!isAssociative(schema) || !isJsonArray(old)) return undefined;
  return new Map(old.map((item) => [keyOfItem(schema, item), item]));
}

function checkFields(out: Findings, object: JsonObject, schema: SchemaNode, { path, old }: Place): void {
  const { minProperties, maxProperties } = schema.limits;
  const count = minProperties === undefined && maxProperties === undefined ? 0 : Object.keys(object).length;
  if (minProperties !== undefined && count < minProperties) {
    out.add(invalid(out.at(path), count, `${path} in body should have at least ${minProperties} properties`));
    return;
  }
  if (maxProperties !== undefined && count > maxProperties) {
    out.add(tooMany(out.at(path), count, maxProperties));
    return;
  }
  const before = isJsonObject(old) ? old : {};
  const below = (key: string, child: SchemaNode): void =>
    check(out, object[key] ?? null, child, {
      path: path === '' ? key : `${path}.${key}`,
      old: ownValue(before, key),
    });
  if (schema.additional !== undefined) {
    for (const key of Object.keys(object)) if (!schema.properties.has(key)) below(key, schema.additional);
  }
  for (const [name, property] of schema.properties) if (Object.hasOwn(object, name)) below(name, property);
  for (const name of schema.required) {
    const isThere = Object.hasOwn(object, name) || schema.properties.get(name)?.default !== undefined;
    if (!isThere) out.add(required(out.at(path === '' ? name : `${path}.${name}`)));
  }
  out.checks += 1;
}

function checkJunctors(out: Findings, value: Json, schema: SchemaNode, path: string): void {
  if (schema.anyOf.length > 0) checkAnyOf(out, value, schema.anyOf, path);
  if (schema.oneOf.length > 0) checkOneOf(out, value, schema.oneOf, path);
  if (schema.allOf.length > 0) checkAllOf(out, value, schema.allOf, path);
  if (schema.not !== undefined && tried(out, value, schema.not, path).errors.length === 0) {
    out.add(composite(out, path, 'must not validate the schema (not)'));
  }
  out.checks += 1;
}

function tried(out: Findings, value: Json, schema: SchemaNode, path: string): Findings {
  const findings = new Findings(out.root, out.effort);
  check(findings, value, schema, { path, old: undefined });
  return findings;
}

function composite(out: Findings, path: string, problem: string): FieldError {
  out.effort.read(path.length);
  return invalid(NOWHERE, '', `${JSON.stringify(path)} ${problem}`);
}

/** Selects the alternative that passed the most checks; its errors are reported. */
const furthest = (best: Findings | undefined, next: Findings): Findings =>
  best === undefined || next.checks > best.checks ? next : best;

function checkAnyOf(out: Findings, value: Json, schemas: readonly SchemaNode[], path: string): void {
  let best: Findings | undefined;
  for (const schema of schemas) {
    const findings = tried(out, value, schema, path);
    if (findings.errors.length === 0) return out.merge(findings);
    best = furthest(best, findings);
  }
  out.add(composite(out, path, 'must validate at least one schema (anyOf)'));
  if (best !== undefined) out.merge(best);
}

function checkOneOf(out: Findings, value: Json, schemas: readonly SchemaNode[], path: string): void {
  const all = schemas.map((schema) => tried(out, value, schema, path));
  const fitting = all.filter(({ errors }) => errors.length === 0);
  const [first] = fitting;
  if (fitting.length === 1 && first !== undefined) return out.merge(first);
  const found = fitting.length === 0 ? 'Found none valid' : `Found ${fitting.length} valid alternatives`;
  out.add(composite(out, path, `must validate one and only one schema (oneOf). ${found}`));
  const best = fitting.length === 0 ? all.reduce(furthest) : undefined;
  if (best !== undefined) out.merge(best);
}

function checkAllOf(out: Findings, value: Json, schemas: readonly SchemaNode[], path: string): void {
  const all = schemas.map((schema) => tried(out, value, schema, path));
  const fitting = all.filter(({ errors }) => errors.length === 0).length;
  for (const findings of all) out.merge(findings);
  if (fitting === all.length) return;
  const none = fitting === 0 ? '. None validated' : '';
  out.add(composite(out, path, `must validate all the schemas (allOf)${none}`));
}
