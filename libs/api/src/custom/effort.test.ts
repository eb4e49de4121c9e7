import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage, type Json, type JsonObject } from '@holdfast/machinery';
import { schemaNode } from './schema-node.ts';
import { schemaErrors } from './validate.ts';

const errors = (schema: JsonObject, value: Json): readonly string[] =>
  schemaErrors(value, schemaNode(schema)).map(fieldErrorMessage);

const TOO_COMPLEX = [
  '<nil>: Invalid value: "": the object is too complex to be validated: 2000000 checks were not enough',
];
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });
const many = (count: number, make: (index: number) => Json): Json => Array.from({ length: count }, (_, i) => make(i));

test('the patterns of all values of an object share its effort', () => {
  const growing = { type: 'string', pattern: '(a|b)*a(a|b){100}c' };
  const text = (index: number): string =>
    `c${index.toString(2).padStart(10, '0').replaceAll('0', 'ab').replaceAll('1', 'ba').repeat(500)}`;
  assert.equal(errors(list(growing), many(2, text)).length, 2);
  assert.deepEqual(errors(list(growing), many(300, text)), TOO_COMPLEX);
  const plain = { type: 'string', pattern: `^a*${'a'.repeat(1_000)}b$` };
  assert.equal(
    errors(
      list(plain),
      many(3, () => 'a'.repeat(1_000)),
    ).length,
    3,
  );
  assert.deepEqual(
    errors(
      list(plain),
      many(300, () => 'a'.repeat(1_000)),
    ),
    TOO_COMPLEX,
  );
});

test('an honest object has far more room than it needs', () => {
  const name = {
    type: 'string',
    pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$',
  };
  assert.deepEqual(
    errors(
      list(name),
      many(10_000, (index) => `node-${index}.region-1.example.com`),
    ),
    [],
  );
});
