import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareElements, formatPath } from './element.ts';
import {
  differenceOf,
  EMPTY_FIELD_SET,
  equalSets,
  type FieldSet,
  fieldSetOf,
  hasPath,
  intersectionOf,
  isEmptySet,
  pathsOf,
  recursiveDifferenceOf,
  sortedElements,
  unionOf,
} from './field-set.ts';
import { decodeFieldsV1, encodeFieldsV1, FieldsV1Error } from './fields-v1.ts';

const element = fc.constantFrom('f:a', 'f:b', 'f:__proto__', 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"1"', 'v:2', 'i:0');
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const set: fc.Arbitrary<FieldSet> = fc.array(path, { maxLength: 12 }).map((paths) => fieldSetOf(...paths));
const same = (a: FieldSet, b: FieldSet): void => assert.equal(equalSets(a, b), true);
const texts = (fields: FieldSet): Set<string> => new Set([...pathsOf(fields)].map((p) => p.join('\n')));

test('field sets obey the laws of sets', () => {
  fc.assert(
    fc.property(set, set, set, (a, b, c) => {
      same(unionOf(a, b), unionOf(b, a));
      same(unionOf(a, unionOf(b, c)), unionOf(unionOf(a, b), c));
      same(intersectionOf(a, b), intersectionOf(b, a));
      same(intersectionOf(a, unionOf(b, c)), unionOf(intersectionOf(a, b), intersectionOf(a, c)));
      same(differenceOf(a, unionOf(b, c)), differenceOf(differenceOf(a, b), c));
      same(unionOf(differenceOf(a, b), intersectionOf(a, b)), a);
      same(unionOf(a, EMPTY_FIELD_SET), a);
      assert.equal(isEmptySet(differenceOf(a, a)), true);
      assert.equal(isEmptySet(intersectionOf(differenceOf(a, b), b)), true);
    }),
  );
});

test('field sets contain their paths', () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      assert.deepEqual(texts(unionOf(a, b)), texts(a).union(texts(b)));
      assert.deepEqual(texts(intersectionOf(a, b)), texts(a).intersection(texts(b)));
      assert.deepEqual(texts(differenceOf(a, b)), texts(a).difference(texts(b)));
      const covered = (p: readonly string[]): boolean => p.some((_, i) => hasPath(b, p.slice(0, i + 1)));
      const kept = [...pathsOf(a)].filter((p) => !covered(p)).map((p) => p.join('\n'));
      assert.deepEqual(texts(recursiveDifferenceOf(a, b)), new Set(kept));
    }),
  );
});

test('FieldsV1 restores a set', () => {
  fc.assert(
    fc.property(set, (a) => {
      const json = JSON.stringify(encodeFieldsV1(a));
      same(decodeFieldsV1(JSON.parse(json)), a);
      assert.equal(JSON.stringify(encodeFieldsV1(decodeFieldsV1(JSON.parse(json)))), json);
    }),
  );
});

test('FieldsV1 is written in the canonical order', () => {
  const fields = fieldSetOf(
    ['f:spec', 'f:ports', 'k:{"port":443}'],
    ['f:spec', 'f:ports', 'k:{"port":80}'],
    ['f:spec', 'f:ports', 'k:{"port":80}', 'f:name'],
    ['f:spec', 'f:ports'],
    ['f:metadata', 'f:finalizers', 'v:"b"'],
    ['f:metadata', 'f:finalizers', 'v:"a"'],
  );
  assert.equal(
    JSON.stringify(encodeFieldsV1(fields)),
    '{"f:metadata":{"f:finalizers":{"v:\\"a\\"":{},"v:\\"b\\"":{}}},"f:spec":{"f:ports":{".":{},"k:{\\"port\\":80}":{".":{},"f:name":{}},"k:{\\"port\\":443}":{}}}}',
  );
});

test('elements have an order and their keys have a fixed form', () => {
  assert.deepEqual(['i:1', 'v:"a"', 'v:2', 'f:b', 'k:{"a":2}', 'f:a', 'k:{"a":10}'].sort(compareElements), [
    'f:a',
    'f:b',
    'k:{"a":2}',
    'k:{"a":10}',
    'v:2',
    'v:"a"',
    'i:1',
  ]);
  same(
    decodeFieldsV1({ 'k:{"protocol":"TCP", "containerPort":80}': {} }),
    fieldSetOf(['k:{"containerPort":80,"protocol":"TCP"}']),
  );
  assert.equal(
    formatPath(['f:spec', 'k:{"containerPort":80,"protocol":"TCP"}', 'v:"x"', 'i:3']),
    '.spec[containerPort=80,protocol="TCP"][="x"][3]',
  );
});

test('invalid FieldsV1 is refused, unknown entries in it are ignored', () => {
  for (const wrong of [null, [], 'x', { 'f:a': 1 }, { 'k:{': {} }])
    assert.throws(() => decodeFieldsV1(wrong), FieldsV1Error);
  assert.equal(isEmptySet(decodeFieldsV1({ 'x:new': {} })), true);
});

test('sorting parses each element of a long list once', (t) => {
  const parse = t.mock.method(JSON, 'parse');
  const elements = Array.from({ length: 1_000 }, (_, index) => `k:{"port":${(index * 7) % 1_000},"protocol":"TCP"}`);
  const sorted = sortedElements(new Map(elements.map((element) => [element, true])));
  assert.deepEqual([sorted[0], sorted[10], sorted.length], [portOf(0), portOf(10), 1_000]);
  assert.ok(parse.mock.callCount() <= 1_000, `${parse.mock.callCount()} were parsed`);
});

const portOf = (port: number): string => `k:{"port":${port},"protocol":"TCP"}`;
