import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Type } from '@bufbuild/cel-spec/cel/expr/checked_pb.js';
import type { SimpleTest } from '@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js';
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js';
import { getConformanceSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { equals } from './equality.ts';
import { type CelType, type CelValue, compileExpression, EntryMap, standardEnvironment } from './index.ts';
import { Meter } from './meter.ts';
import * as types from './types.ts';
import { ArrayList, TypeValue, typeNameOf, Uint } from './values.ts';

/** Suites about protobuf messages and about libraries that Kubernetes does not have. */
const NOT_OURS = new Set([
  'bindings_ext',
  'block_ext',
  'dynamic',
  'encoders_ext',
  'enums',
  'math_ext',
  'proto2',
  'proto2_ext',
  'proto3',
  'wrappers',
  'network_ext',
]);
/** Expressions that name protobuf messages. */
const MESSAGE =
  /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|NestedTestAllTypes|\{\s*[a-z_]+\s*:\s*[^'"]*\}\.|GlobalEnum|GoogleTypes/;

class Unsupported extends Error {}

interface Found {
  readonly suite: string;
  readonly path: string;
  readonly simple: SimpleTest;
}

function collect(suite: ReturnType<typeof getConformanceSuite>): Found[] {
  const found: Found[] = [];
  for (const file of suite.suites) {
    if (NOT_OURS.has(file.name)) continue;
    for (const section of file.suites) {
      for (const each of section.tests) {
        found.push({
          suite: file.name,
          path: `${file.name}/${section.name}/${each.name}`,
          simple: each.original as SimpleTest,
        });
      }
    }
  }
  return found;
}

function valueOf(value: Value): CelValue {
  const { kind } = value;
  switch (kind.case) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
    case 'stringValue':
    case 'bytesValue':
      return kind.value;
    case 'uint64Value':
      return new Uint(kind.value);
    case 'listValue':
      return new ArrayList(kind.value.values.map(valueOf));
    case 'mapValue': {
      const map = new EntryMap();
      for (const { key, value: entry } of kind.value.entries) {
        map.set(valueOf(key as Value), valueOf(entry as Value));
      }
      return map;
    }
    case 'typeValue':
      return new TypeValue(kind.value);
    default:
      throw new Unsupported(String(kind.case));
  }
}

const PRIMITIVES: readonly (CelType | undefined)[] = [
  undefined,
  types.BOOL,
  types.INT,
  types.UINT,
  types.DOUBLE,
  types.STRING,
  types.BYTES,
];

function typeOf(type: Type | undefined): CelType {
  switch (type?.typeKind.case) {
    case 'primitive':
      return PRIMITIVES[type.typeKind.value] ?? types.DYN;
    case 'listType':
      return types.listOf(typeOf(type.typeKind.value.elemType));
    case 'mapType':
      return types.mapOf(typeOf(type.typeKind.value.keyType), typeOf(type.typeKind.value.valueType));
    case 'null':
      return types.NULL;
    case 'dyn':
      return types.DYN;
    case 'wellKnown':
      return type.typeKind.value === 2 ? types.TIMESTAMP : type.typeKind.value === 3 ? types.DURATION : types.DYN;
    default:
      throw new Unsupported(String(type?.typeKind.case));
  }
}

/** Returns `ok`, `unsupported`, or a description of the failure. */
function run(simple: SimpleTest): string {
  if (
    MESSAGE.test(simple.expr) ||
    simple.disableMacros ||
    simple.disableCheck ||
    simple.checkOnly ||
    simple.container !== ''
  )
    return 'unsupported';
  try {
    const variables = new Map<string, CelType>();
    for (const { name, declKind } of simple.typeEnv) {
      if (declKind.case !== 'ident' || name.includes('.')) return 'unsupported';
      variables.set(name, typeOf(declKind.value.type));
    }
    const bindings = new Map<string, CelValue>();
    for (const [name, bound] of Object.entries(simple.bindings)) {
      if (bound.kind.case !== 'value') return 'unsupported';
      bindings.set(name, valueOf(bound.kind.value));
      if (!variables.has(name)) variables.set(name, types.DYN);
    }
    return judge(simple, variables, bindings);
  } catch (error) {
    if (error instanceof Unsupported) return 'unsupported';
    throw error;
  }
}

function shown(value: CelValue): string {
  return typeof value === 'object' ? typeNameOf(value) : String(value);
}

function judge(
  { expr, resultMatcher }: SimpleTest,
  variables: ReadonlyMap<string, CelType>,
  bindings: ReadonlyMap<string, CelValue>,
): string {
  const wantsError = resultMatcher.case === 'evalError' || resultMatcher.case === 'anyEvalErrors';
  const compiled = compileExpression(expr, standardEnvironment(variables));
  if (compiled.program === undefined) return wantsError ? 'ok' : compiled.message;
  const outcome = compiled.program.evaluate((name) => bindings.get(name));
  if (outcome.error !== undefined) return wantsError ? 'ok' : outcome.error.message;
  if (wantsError) return `no error but ${shown(outcome.value)}`;
  if (resultMatcher.case === undefined) return outcome.value === true ? 'ok' : 'not true';
  const wanted = resultMatcher.case === 'value' ? resultMatcher.value : undefined;
  const typed = resultMatcher.case === 'typedResult' ? resultMatcher.value.result : wanted;
  if (typed === undefined) return 'unsupported';
  const expected = valueOf(typed);
  if (typeof expected === 'number' && Number.isNaN(expected) && Number.isNaN(outcome.value)) return 'ok';
  return equals(outcome.value, expected, new Meter(Infinity)) && typeof outcome.value === typeof expected
    ? 'ok'
    : `got ${shown(outcome.value)}, wanted ${shown(expected)}`;
}

/** Cases that the grammar cannot parse, by path prefix. Expressions for Kubernetes do not use them. */
const KNOWN: readonly (readonly [string, string])[] = [
  ['fields/quoted_map_fields/', 'names in backticks came after 1.32'],
  ['parse/bytes_literals/raw_', "raw bytes: br'...'"],
  ['parse/bytes_literals/upper_raw_', "raw bytes: bR'...'"],
  ['basic/self_eval_nonzeroish/self_eval_bytes_escape', 'letters beyond ASCII in bytes'],
  ['comparisons/eq_literal/eq_bytes', 'letters beyond ASCII in bytes'],
  ['comparisons/ne_literal/not_ne_bytes', 'letters beyond ASCII in bytes'],
  ['comparisons/gt_literal/not_gt_double', 'a number that begins with its point: .99'],
];

function isKnown(path: string): boolean {
  return KNOWN.some(([beginning]) => path.startsWith(beginning));
}

test('the conformance data of the expression language holds', () => {
  const wrong: string[] = [];
  const counts = new Map<string, { ok: number; failed: number; unsupported: number }>();
  for (const { suite, path, simple } of collect(getConformanceSuite())) {
    const count = counts.get(suite) ?? { ok: 0, failed: 0, unsupported: 0 };
    counts.set(suite, count);
    const result = run(simple);
    if (result === 'ok') count.ok += 1;
    else if (result === 'unsupported') count.unsupported += 1;
    else if (!isKnown(path)) {
      count.failed += 1;
      wrong.push(`${path}: ${simple.expr.slice(0, 160)}\n    ${result.slice(0, 200)}`);
    }
  }
  const sum = [...counts.values()].reduce((total, { ok }) => total + ok, 0);
  assert.equal(
    wrong.length,
    0,
    `${wrong.length} differ, ${sum} hold\n${wrong.join('\n')}\n${JSON.stringify([...counts])}`,
  );
  assert.equal(sum, 1_276, `${sum} were run`);
});
