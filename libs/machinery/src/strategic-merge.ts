import { deepEqual } from './deep.ts';
import { goInterfaceType, printGo } from './go-types.ts';
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  jsonTypeName,
  type MutableJsonObject,
  ownValue,
  setOwn,
} from './json.ts';
import type { Schema } from './schema.ts';
import { badRequest, unclassifiedError, unprocessablePatch } from './status.ts';
import { arrange, keyOf } from './strategic-order.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_FROM = '$deleteFromPrimitiveList';
const ORDER_OF = '$setElementOrder';

/** Throws StatusError. The result shares unchanged branches with its inputs. */
export function applyStrategicMergePatch(doc: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  return mergeObject(doc, patch, schema);
}

/** The merge rule in a field's table. */
interface FieldRule {
  readonly schema: Schema;
  readonly merges: boolean;
  readonly replaces: boolean;
  readonly mergeKey: string;
}

const ANY: Schema = Object.freeze({ kind: 'any' });
const NO_RULE: FieldRule = Object.freeze({ schema: ANY, merges: false, replaces: false, mergeKey: '' });

function ruleOf(schema: Schema, field: string): FieldRule {
  if (schema.kind === 'map') return { ...NO_RULE, schema: schema.values() };
  if (schema.kind !== 'struct' || !Object.hasOwn(schema.fields, field)) return NO_RULE;
  const found = schema.fields[field];
  if (found === undefined) return NO_RULE;
  const strategies = found.patchStrategy ?? [];
  return {
    schema: found.type(),
    merges: strategies.includes('merge'),
    replaces: strategies.includes('replace'),
    mergeKey: found.patchMergeKey ?? '',
  };
}

const itemSchema = (schema: Schema): Schema => (schema.kind === 'list' ? schema.items() : ANY);

function mergeObject(original: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  const directive = ownValue(patch, DIRECTIVE);
  if (directive !== undefined) return followDirective(directive, patch);
  const result: MutableJsonObject = { ...original };
  const pending: MutableJsonObject = { ...patch };
  retainKeys(result, pending);
  mergeOrderedLists(result, pending, schema);
  for (const [key, value] of Object.entries(pending)) mergeField(result, key, value, schema);
  return result;
}

function followDirective(directive: Json, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {};
  if (directive !== 'replace') {
    throw unclassifiedError(`unknown patch type: ${printGo(directive)} in map: ${printGo(patch)}`);
  }
  const { [DIRECTIVE]: _, ...rest } = patch;
  return rest;
}

function retainKeys(result: MutableJsonObject, pending: MutableJsonObject): void {
  const retained = ownValue(pending, RETAIN_KEYS);
  if (retained === undefined) return;
  delete pending[RETAIN_KEYS];
  if (!isJsonArray(retained)) throw badRequest('invalid patch format of retainKeys');
  const kept = new Set(retained);
  for (const [key, value] of Object.entries(pending)) {
    if (value === null || kept.has(key) || key.startsWith(DELETE_FROM) || key.startsWith(ORDER_OF)) continue;
    throw badRequest('invalid patch format of retainKeys');
  }
  for (const key of Object.keys(result)) if (!kept.has(key)) delete result[key];
}

function mergeField(result: MutableJsonObject, rawKey: string, value: Json, schema: Schema): void {
  const deletes = rawKey.startsWith(DELETE_FROM);
  const key = deletes ? targetField(rawKey, DELETE_FROM) : rawKey;
  if (value === null) {
    delete result[key];
    return;
  }
  const current = ownValue(result, key);
  if (current === undefined || jsonTypeName(current) !== jsonTypeName(value)) {
    if (!deletes) setOwn(result, key, withoutNullsAndDirectives(value));
    return;
  }
  const rule = ruleOf(schema, key);
  if (isJsonObject(current) && isJsonObject(value)) {
    setOwn(result, key, rule.replaces ? withoutNullsAndDirectives(value) : mergeObject(current, value, rule.schema));
  } else if (isJsonArray(current) && isJsonArray(value)) {
    setOwn(result, key, mergeListField(current, value, rule, deletes));
  } else setOwn(result, key, value);
}

function targetField(key: string, prefix: string): string {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1);
  throw badRequest(
    prefix === DELETE_FROM ? 'invalid patch format of primitive list' : 'invalid patch format of setElementOrder list',
  );
}

/** Copies a new value: nulls mean "absent", and directives are not data. */
function withoutNullsAndDirectives(value: Json): Json {
  if (isJsonArray(value)) return value.filter((item) => !isDirective(item)).map(withoutNullsAndDirectives);
  if (!isJsonObject(value)) return value;
  const result: MutableJsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    if (child === null || isDirectiveKey(key)) continue;
    setOwn(result, key, withoutNullsAndDirectives(child));
  }
  return result;
}

const isDirectiveKey = (key: string): boolean =>
  key === DIRECTIVE || key === RETAIN_KEYS || key.startsWith(`${DELETE_FROM}/`) || key.startsWith(`${ORDER_OF}/`);

const isDirective = (item: Json): boolean =>
  isJsonObject(item) &&
  (ownValue(item, DIRECTIVE) === 'delete' || ownValue(item, DIRECTIVE) === 'replace') &&
  Object.keys(item).length <= 2;

function mergeListField(
  current: readonly Json[],
  patch: readonly Json[],
  rule: FieldRule,
  deletes: boolean,
): readonly Json[] {
  if (deletes) {
    const deleted = new Set(patch);
    return current.filter((item) => !deleted.has(item));
  }
  return rule.merges ? mergeList(current, patch, rule) : withoutNullsInItems(patch);
}

const withoutNullsInItems = (items: readonly Json[]): readonly Json[] => items.map(withoutNullsAndDirectives);

function mergeList(current: readonly Json[], patch: readonly Json[], rule: FieldRule): readonly Json[] {
  if (current.length === 0 && patch.length === 0) return current;
  if (elementType(current, patch) !== 'object') {
    return arrange([...new Set([...current, ...patch])], patch, current, '');
  }
  if (rule.mergeKey === '') throw unclassifiedError('cannot merge lists without merge key for type map');
  const live = followListDirectives(current, patch, rule.mergeKey);
  const merged = mergeItems(live.base, live.patch, rule);
  return arrange(merged, live.patch, live.base, rule.mergeKey);
}

function elementType(...lists: readonly (readonly Json[])[]): string {
  const types = new Set(lists.flat().map(jsonTypeName));
  if (types.has('array')) throw unprocessablePatch(new Error('lists of lists are not supported'));
  if (types.size > 1) {
    throw unclassifiedError(`list element types are not identical: ${printGo(lists.map((list) => [...list]))}`);
  }
  const [type] = types;
  if (type === undefined) throw unclassifiedError('no elements in any of the given slices');
  return type;
}

const asObjects = (items: readonly Json[]): readonly JsonObject[] => items.filter(isJsonObject);

interface ListPatch {
  readonly base: readonly JsonObject[];
  readonly patch: readonly JsonObject[];
}

function followListDirectives(current: readonly Json[], patch: readonly Json[], mergeKey: string): ListPatch {
  const base = asObjects(current);
  const plain: JsonObject[] = [];
  const deleted = new Set<Json | undefined>();
  let replaces = false;
  for (const item of asObjects(patch)) {
    const directive = ownValue(item, DIRECTIVE);
    if (directive === undefined) plain.push(item);
    else if (directive === 'replace') replaces = true;
    else if (directive === 'delete') deleted.add(keyOf(item, mergeKey));
    else if (directive === 'merge') throw unclassifiedError('merging lists cannot yet be specified in the patch');
    else throw unclassifiedError(`unknown patch type: ${printGo(directive)} in map: ${printGo(item)}`);
  }
  if (replaces) return { base: asObjects(withoutNullsInItems(plain)), patch: [] };
  const left = deleted.size === 0 ? base : base.filter((item) => !deleted.has(ownValue(item, mergeKey)));
  return { base: left, patch: plain };
}

function mergeItems(base: readonly JsonObject[], patch: readonly JsonObject[], rule: FieldRule): readonly Json[] {
  const result: Json[] = [...base];
  const schema = itemSchema(rule.schema);
  const positions = new Map<Json | undefined, number>();
  base.forEach((item, index) => {
    const key = ownValue(item, rule.mergeKey);
    if (!positions.has(key)) positions.set(key, index);
  });
  for (const item of patch) {
    const key = keyOf(item, rule.mergeKey);
    const index = positions.get(key) ?? result.length;
    const found = result[index];
    result[index] = isJsonObject(found) ? mergeObject(found, item, schema) : withoutNullsAndDirectives(item);
    positions.set(key, index);
  }
  return result;
}

/** Applies `$setElementOrder/x` together with the patch of `x`, and marks both as done. */
function mergeOrderedLists(result: MutableJsonObject, pending: MutableJsonObject, schema: Schema): void {
  for (const key of Object.keys(pending)) {
    if (!key.startsWith(ORDER_OF)) continue;
    const order = ownValue(pending, key);
    delete pending[key];
    const field = targetField(key, ORDER_OF);
    if (!isJsonArray(order)) throw badRequest('invalid patch format of setElementOrder list');
    const current = listOrNothing(ownValue(result, field));
    const patch = listOrNothing(ownValue(pending, field));
    if (current === undefined && patch === undefined) continue;
    const rule = ruleOf(schema, field);
    if (patch !== undefined) checkOrder(patch, order, rule.mergeKey);
    const merged = mergeOptionalLists(current, patch, rule);
    setOwn(result, field, merged.length === 0 ? merged : arrange(merged, order, current ?? [], rule.mergeKey));
    delete pending[field];
  }
}

function mergeOptionalLists(
  current: readonly Json[] | undefined,
  patch: readonly Json[] | undefined,
  rule: FieldRule,
): readonly Json[] {
  if (patch === undefined) return current ?? [];
  if (current === undefined) return withoutNullsInItems(patch.filter((item) => !isDirective(item)));
  return mergeListField(current, patch, rule, false);
}

function listOrNothing(value: Json | undefined): readonly Json[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (isJsonArray(value)) return value;
  throw unclassifiedError(`expected a []interface {}, but received a ${goInterfaceType(value)}`);
}

/** The items of the patch must occur in the order list, in the same order. */
function checkOrder(patch: readonly Json[], order: readonly Json[], mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return;
  const items = patch.filter((item) => !(isJsonObject(item) && Object.hasOwn(item, DIRECTIVE)));
  let next = 0;
  for (const position of order) {
    const item = items[next];
    if (item === undefined) break;
    if (sameItem(item, position, mergeKey)) next += 1;
  }
  if (next === items.length) return;
  throw unclassifiedError(
    `The order in patch list:\n${printGo(patch)}\n doesn't match ${ORDER_OF} list:\n${printGo(order)}\n`,
  );
}

function sameItem(a: Json, b: Json, mergeKey: string): boolean {
  if (mergeKey === '' || !isJsonObject(a) || !isJsonObject(b)) return deepEqual(a, b);
  return deepEqual(keyOf(a, mergeKey), keyOf(b, mergeKey));
}
