import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldSetOf } from '../fieldpath/field-set.ts';
import { encodeFieldsV1 } from '../fieldpath/fields-v1.ts';
import type { JsonObject } from '../json.ts';
import type { ListSchema, StructSchema } from '../schema.ts';
import { compareTyped } from './compare.ts';
import { mergeTyped } from './merge.ts';
import { removeFields } from './remove.ts';
import { toFieldSet } from './to-field-set.ts';
import { unsetObject } from './unset.ts';
import { formatTypedErrors, validateTyped } from './validate.ts';

const number: ListSchema['items'] = () => ({ kind: 'scalar', scalar: 'int32' });

const thing: StructSchema = {
  kind: 'struct',
  name: 'example.v1.Thing',
  fields: {
    free: { type: () => ({ kind: 'any' }) },
    ids: { type: () => ({ kind: 'list', items: number, listType: 'set' }) },
    pinned: { type: () => ({ kind: 'map', values: number, atomic: true }) },
    parts: { type: () => ({ kind: 'map', values: () => part }) },
    count: { type: number, required: true },
    flags: { type: () => ({ kind: 'list', items: number, listType: 'atomic' }), required: true },
    spec: { type: () => part },
    maybe: { type: () => part, required: true },
  },
};

const part: StructSchema = {
  kind: 'struct',
  name: 'example.v1.Part',
  fields: { size: { type: number }, on: { type: () => ({ kind: 'scalar', scalar: 'boolean' }) } },
};

const fields = (value: JsonObject): JsonObject => encodeFieldsV1(toFieldSet(value, thing));

test('data without a schema is owned key by key, its lists are atomic', () => {
  assert.deepEqual(fields({ free: { a: { b: 1, c: [1] }, d: {} } }), {
    'f:free': { 'f:a': { '.': {}, 'f:b': {}, 'f:c': {} }, 'f:d': {} },
  });
});

test('the fields of each kind of schema', () => {
  assert.deepEqual(fields({ ids: [2, 1, 2], pinned: { a: 1 }, parts: { x: { size: 1 } }, spec: {}, count: 1 }), {
    'f:count': {},
    'f:ids': { 'v:1': {}, 'v:2': {} },
    'f:parts': { 'f:x': { '.': {}, 'f:size': {} } },
    'f:pinned': {},
    'f:spec': {},
  });
});

test('a comparison reports added, modified and removed fields', () => {
  const before: JsonObject = { ids: [1, 2], pinned: { a: 1 }, parts: { x: { size: 1 } }, free: 'text', count: 1 };
  const after: JsonObject = { ids: [2, 3], pinned: { a: 2 }, parts: { y: { size: 1 } }, free: { a: 1 }, count: 1 };
  const { added, modified, removed } = compareTyped(before, after, thing);
  assert.deepEqual(encodeFieldsV1(added), {
    'f:free': { 'f:a': {} },
    'f:ids': { 'v:3': {} },
    'f:parts': { 'f:y': { '.': {}, 'f:size': {} } },
  });
  assert.deepEqual(encodeFieldsV1(modified), { 'f:free': {}, 'f:pinned': {} });
  assert.deepEqual(encodeFieldsV1(removed), {
    'f:ids': { 'v:1': {} },
    'f:parts': { 'f:x': { '.': {}, 'f:size': {} } },
  });
});

test('nil and empty differ only in leaves', () => {
  const change = compareTyped({ parts: null, spec: {}, ids: null }, { parts: {}, spec: { size: 1 }, ids: [1] }, thing);
  assert.deepEqual(encodeFieldsV1(change.modified), { 'f:parts': {} });
  assert.deepEqual(encodeFieldsV1(change.added), { 'f:ids': { 'v:1': {} }, 'f:spec': { 'f:size': {} } });
});

test('a merge keeps the fields that the configuration omits', () => {
  const live: JsonObject = { ids: [1, 2], pinned: { a: 1 }, parts: { x: { size: 1, on: true } }, count: 1 };
  const config: JsonObject = { ids: [3], pinned: { b: 2 }, parts: { x: { size: 2 }, y: null } };
  assert.deepEqual(mergeTyped(live, config, thing), {
    ids: [1, 2, 3],
    pinned: { b: 2 },
    parts: { x: { size: 2, on: true }, y: null },
    count: 1,
  });
});

test('removal takes fields, items and keys', () => {
  const value: JsonObject = { ids: [1, 2], parts: { x: { size: 1, on: true } }, count: 1, spec: { size: 1 } };
  const gone = fieldSetOf(['f:ids', 'v:1'], ['f:parts', 'f:x', 'f:on'], ['f:count'], ['f:spec', 'f:size']);
  assert.deepEqual(removeFields(value, gone, thing), { ids: [2], parts: { x: { size: 1 } }, spec: null });
});

test('unset fields', () => {
  assert.deepEqual(unsetObject(thing), { count: 0, flags: null, spec: {}, maybe: null });
});

test('each of several errors is on its own line', () => {
  const errors = validateTyped({ ids: [{}], count: 'x', parts: { x: [] }, spec: { on: 'y' } }, thing);
  assert.equal(
    formatTypedErrors(errors),
    [
      'errors:',
      "  .ids: element 0: associative list without keys has an element that's a map type",
      '  .count: expected numeric (int or float), got string',
      '  .parts.x: expected map, got &{[]}',
      '  .spec.on: expected boolean, got &{y}',
    ].join('\n'),
  );
});
