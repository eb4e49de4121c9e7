import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseTooManyValues } from './document-size.ts';
import type { Json, JsonObject } from './json.ts';
import { parseJson } from './json-decode.ts';
import { applyJsonPatch } from './json-patch.ts';
import { MAX_ENTRIES, MAX_VALUES } from './limits.ts';
import { StatusError } from './status.ts';

const tooLarge = (error: unknown): boolean => error instanceof StatusError && error.code === 413;
const list = (size: number): readonly Json[] => Array.from({ length: size }, (_, index) => `x${index}`);
const members = (size: number): JsonObject =>
  Object.fromEntries(Array.from({ length: size }, (_, index) => [`x${index}`, 'v']));

test('a list or an object with too many entries is 413 at any depth', () => {
  for (const value of [list(MAX_ENTRIES), members(MAX_ENTRIES)]) {
    parseJson(JSON.stringify({ metadata: { a: value } }));
  }
  for (const value of [list(MAX_ENTRIES + 1), members(MAX_ENTRIES + 1)]) {
    assert.throws(() => parseJson(JSON.stringify({ metadata: { a: value } })), tooLarge);
    assert.throws(() => refuseTooManyValues({ a: [value] }), tooLarge);
  }
});

test('many short lists are counted together', () => {
  const lists = (count: number): JsonObject => ({ a: Array.from({ length: count }, () => list(99)) });
  refuseTooManyValues(lists(MAX_VALUES / 100 - 1));
  assert.throws(() => refuseTooManyValues(lists(MAX_VALUES / 100 + 1)), tooLarge);
});

test('an object that was accepted can be sent again with its managedFields', () => {
  const data = members(MAX_ENTRIES);
  const fields = Object.fromEntries(Object.keys(data).map((key) => [`f:${key}`, {}]));
  const managedFields = [{ manager: 'm', fieldsV1: { 'f:data': { '.': {}, ...fields } } }];
  refuseTooManyValues({ metadata: { managedFields }, data });
  assert.throws(() => refuseTooManyValues({ metadata: { managedFields: list(MAX_ENTRIES + 2) } }), tooLarge);
});

test('a JSON patch does not grow a list beyond the limit', () => {
  const insert = { op: 'add', path: '/a/0', value: 'x' };
  assert.throws(() => applyJsonPatch({ a: list(MAX_ENTRIES) }, [insert]), tooLarge);
  assert.throws(() => applyJsonPatch({ a: [] }, [{ ...insert, path: '/b'.repeat(1_000_000) }]), StatusError);
});

test('too many entries are refused before the text is parsed', () => {
  const unfinished = [`{"a":[${'1,'.repeat(MAX_ENTRIES + 2)}`, `{${'"a":1,'.repeat(MAX_ENTRIES + 2)}`];
  for (const text of unfinished) {
    assert.throws(() => parseJson(text), tooLarge);
  }
  assert.throws(() => parseJson(`{"a":[${'1,'.repeat(MAX_ENTRIES - 2)}`), /unexpected end of JSON input/);
  const nested = { a: ['],[', { b: [1, 2] }], c: '{,}'.repeat(MAX_ENTRIES) };
  assert.deepEqual(parseJson(JSON.stringify(nested)).value, nested);
});
