import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage, type Json, type JsonObject } from '@holdfast/machinery';
import { setCustomDefaults, setStoredDefaults } from './defaulting.ts';
import { schemaNode } from './schema-node.ts';
import { crdRefusals } from './testing.ts';
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

test('long texts and long paths are work for each schema that they are compared with', () => {
  const formats = Array.from({ length: 2_000 }, () => ({ format: 'uuid' }));
  assert.deepEqual(errors({ type: 'string', oneOf: formats }, 'a'.repeat(100_000)), TOO_COMPLEX);
  const deep = { type: 'object', additionalProperties: list({ not: { type: 'string' } }) };
  assert.deepEqual(errors(deep, { ['k'.repeat(1_000_000)]: many(200, () => 'v') }), TOO_COMPLEX);
  const objects = Array.from({ length: 2_000 }, (_, index) => ({ enum: [{ a: index }] }));
  assert.deepEqual(errors({ type: 'object', oneOf: objects }, { a: 'a'.repeat(100_000) }), TOO_COMPLEX);
});

test('a value is found in an enum without a comparison with each, and all errors share one text', () => {
  let reads = 0;
  const values = Array.from({ length: 1_000 }, (_, index) => `v${index}`);
  const counted = new Proxy(values, { get: (target, key) => ((reads += 1), Reflect.get(target, key)) });
  const node = schemaNode(list({ enum: counted }));
  const once = reads;
  const found = schemaErrors(
    many(500, (index) => `other${index}`),
    node,
  );
  assert.ok(reads < 3 * once, `${reads} reads`);
  assert.equal(found.length, 500);
  assert.equal(new Set(found.map(({ detail }) => detail)).size, 1);
  assert.deepEqual(
    schemaErrors(
      many(500, (index) => `v${index}`),
      node,
    ),
    [],
  );
});

test('an enum compares values as JSON', () => {
  const value = list({ enum: ['1', 2, 1.5, true, null, { b: 1, a: [null] }, []] });
  assert.deepEqual(errors(value, ['1', 2, 2.0, 1.5, true, { a: [null], b: 1 }, []]), []);
  const others: readonly Json[] = [1, '2', 'true', false, null, {}, { a: [null] }, [null], [[]]];
  assert.equal(errors(value, others).length, others.length);
});

test('what is no longer told is not looked for', () => {
  let reads = 0;
  const items = Array.from({ length: 5_000 }, () => ({
    get a() {
      reads += 1;
      return 1;
    },
  }));
  const node = { type: 'object', properties: { a: { type: 'string' } } };
  assert.equal(errors(list(node), items as unknown as Json).length, 1_000);
  assert.ok(reads <= 1_001, `${reads} values`);
});

const WIDE = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 'v']));
const manyDefaults = {
  type: 'array',
  items: {
    type: 'object',
    properties: { wide: { type: 'object', default: WIDE, additionalProperties: { type: 'string' } } },
  },
};

test('defaults that are copied many times are refused, and a stored object stays readable without them', () => {
  const items = (count: number): { wide?: unknown }[] => Array.from({ length: count }, () => ({}));
  const node = schemaNode(manyDefaults);
  const few = items(10);
  setCustomDefaults(few, node);
  assert.deepEqual(few.at(-1)?.wide, WIDE);
  assert.throws(() => setCustomDefaults(items(10_000), node), {
    name: 'StatusError',
    message: /^Request entity too large: its defaults have a size of more than 4194304$/,
  });
  const stored = items(10_000);
  setStoredDefaults(stored, node);
  const filled = stored.filter(({ wide }) => wide !== undefined).length;
  assert.ok(filled > 10 && filled < 50, `${filled} copies`);
});

test('a stored object without room for its defaults does not get the others either', () => {
  const wide = { type: 'object', default: WIDE, additionalProperties: { type: 'string' } };
  const properties = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`p${index}`, wide]));
  const stored = {};
  setStoredDefaults(stored, schemaNode({ type: 'object', properties }));
  assert.ok(Object.keys(stored).length < 50);
});

test('short values of a default count as well', () => {
  const node = schemaNode({
    type: 'array',
    items: { type: 'array', nullable: false, default: many(10_000, () => 0), items: {} },
  });
  assert.throws(
    () =>
      setCustomDefaults(
        many(100, () => null),
        node,
      ),
    /Request entity too large/,
  );
});

test('the defaults of one definition share their effort', () => {
  const letters = Array.from({ length: 4_000 }, (_, index) =>
    (Math.imul(index, 2_654_435_761) >>> 16) & 1 ? 'a' : 'b',
  );
  const text = `c${letters.join('')}`;
  const property = (index: number): JsonObject => ({
    type: 'string',
    pattern: `(a|b)*a(a|b){50}[c${index}]`,
    default: text,
  });
  const schema = (count: number): JsonObject => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, property(index)])),
  });
  assert.match(crdRefusals(schema(2)).join(), /should match/);
  assert.match(crdRefusals(schema(200)).join(), /too complex to be validated/);
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
