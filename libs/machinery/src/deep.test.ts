import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyJson, deepEqual, deepFreeze, semanticEqual } from './deep.ts';

test('a copy equals its source and shares nothing with it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = copyJson(value);
      assert.deepEqual(copy, value);
      assert.equal(deepEqual(copy, value), true);
      deepFreeze(value);
      if (typeof copy === 'object' && copy !== null) assert.equal(Object.isFrozen(copy), false);
    }),
  );
});

test('__proto__ and constructor are plain data', () => {
  const hostile: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
  const copy = copyJson(hostile);
  assert.equal(JSON.stringify(copy), JSON.stringify(hostile));
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
  assert.equal('polluted' in {}, false);
  assert.equal(deepEqual(hostile, {}), false);
  assert.equal(deepEqual({}, hostile), false);
});

test('deepEqual tells absent from null, semanticEqual does not', () => {
  assert.equal(deepEqual({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }), true);
  assert.equal(deepEqual({ a: null }, {}), false);
  assert.equal(deepEqual([], {}), false);
  // JSON has no undefined.
  assert.equal(deepEqual({ a: undefined, b: 1 }, { b: 1, c: undefined }), true);
  assert.equal(deepEqual({ a: undefined }, { a: 1 }), false);
  assert.equal(deepEqual({ a: 1 }, { a: undefined }), false);
  assert.equal(deepEqual({ a: undefined }, { b: 1 }), false);
  assert.equal(semanticEqual({ a: null, b: [], c: {} }, {}), true);
  assert.equal(semanticEqual({ a: [0] }, {}), false);
  assert.equal(semanticEqual({ a: '' }, {}), false);
  assert.equal(semanticEqual([{ a: [] }], [{}]), true);
});
