import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage, type Json, type JsonObject } from '@holdfast/machinery';
import fc from 'fast-check';
import { lacksDefaults, setCustomDefaults } from './defaulting.ts';
import { fitsFormat } from './formats.ts';
import { JsonPath } from './json-path.ts';
import { listTypeErrors } from './list-types.ts';
import { compilePattern } from './patterns.ts';
import { schemaNode } from './schema-node.ts';
import { crdRefusals } from './testing.ts';
import { schemaErrors } from './validate.ts';

const errorsOf = (value: Json, schema: JsonObject, old?: Json): readonly string[] =>
  schemaErrors(value, schemaNode(schema), old === undefined ? {} : { old }).map(fieldErrorMessage);

/** The schema of `{ a: ... }`. */
const ofA = (a: JsonObject): JsonObject => ({ type: 'object', properties: { a } });
const refusalsOf = (a: Json, schema: JsonObject): readonly string[] => errorsOf({ a }, ofA(schema));

test('values are validated with the messages of Kubernetes', () => {
  const cases: readonly (readonly [Json, JsonObject, readonly string[]])[] = [
    ['x', { type: 'integer' }, ['a: Invalid value: "string": a in body must be of type integer: "string"']],
    [null, { type: 'string' }, ['a: Invalid value: "null": a in body must be of type string: "null"']],
    [null, { type: 'string', nullable: true }, []],
    [1, { type: 'number' }, []],
    [0, { type: 'integer', minimum: 1 }, ['a: Invalid value: 0: a in body should be greater than or equal to 1']],
    [
      5,
      { type: 'integer', maximum: 5, exclusiveMaximum: true },
      ['a: Invalid value: 5: a in body should be less than 5'],
    ],
    [3, { type: 'integer', multipleOf: 2 }, ['a: Invalid value: 3: a in body should be a multiple of 2']],
    [0.3, { type: 'number', multipleOf: 0.1 }, []],
    ['ä', { type: 'string', minLength: 2 }, ['a: Invalid value: "ä": a in body should be at least 2 chars long']],
    ['abc', { type: 'string', maxLength: 2 }, ['a: Too long: may not be more than 2 bytes']],
    ['B', { type: 'string', pattern: '^[a-z]+$' }, [`a: Invalid value: "B": a in body should match '^[a-z]+$'`]],
    ['g', { type: 'string', enum: ['r', 'b'] }, ['a: Unsupported value: "g": supported values: "r", "b"']],
    [[1, 2], { type: 'array', maxItems: 1 }, ['a: Too many: 2: must have at most 1 items']],
    [
      ['x'],
      { type: 'array', items: { type: 'integer' } },
      ['a[0]: Invalid value: "string": a[0] in body must be of type integer: "string"'],
    ],
    [{}, { type: 'object', required: ['b'] }, ['a.b: Required value']],
    [{}, { type: 'object', minProperties: 1 }, ['a: Invalid value: 0: a in body should have at least 1 properties']],
    [
      true,
      { 'x-kubernetes-int-or-string': true },
      ['a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"'],
    ],
    [
      '1.2.3',
      { type: 'string', format: 'ipv4' },
      ['a: Invalid value: "1.2.3": a in body must be of type ipv4: "1.2.3"'],
    ],
    [2 ** 40, { type: 'integer', format: 'int32' }, []],
    [
      'x',
      { type: 'string', not: { enum: ['x'] } },
      ['<nil>: Invalid value: "": "a" must not validate the schema (not)'],
    ],
  ];
  for (const [value, schema, expected] of cases)
    assert.deepEqual(refusalsOf(value, schema), expected, JSON.stringify(schema));
});

test('when no schema matches, the errors of the closest schema are reported', () => {
  const schema = { type: 'object', oneOf: [{ required: ['b'] }, { required: ['c'] }] };
  assert.deepEqual(refusalsOf({}, schema), [
    '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found none valid',
    'a.b: Required value',
  ]);
  assert.deepEqual(refusalsOf({ b: 1, c: 1 }, schema), [
    '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
  ]);
  assert.deepEqual(refusalsOf({ b: 1 }, { type: 'object', anyOf: schema.oneOf }), []);
});

test('an update may keep invalid fields that it does not change', () => {
  const item = { type: 'object', properties: { id: { type: 'string' }, n: { type: 'integer', maximum: 1 } } };
  const list = { type: 'array', items: item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] };
  const old = {
    a: [
      { id: 'x', n: 5 },
      { id: 'y', n: 0 },
    ],
  };
  assert.deepEqual(
    errorsOf(
      {
        a: [
          { id: 'y', n: 1 },
          { id: 'x', n: 5 },
        ],
      },
      ofA(list),
      old,
    ),
    [],
  );
  assert.deepEqual(
    errorsOf(
      {
        a: [
          { id: 'y', n: 2 },
          { id: 'x', n: 5 },
        ],
      },
      ofA(list),
      old,
    ),
    ['a[0].n: Invalid value: 2: a[0].n in body should be less than or equal to 1'],
  );
});

test('a set rejects duplicate items, and a map rejects duplicate keys', () => {
  const set = ofA({ type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' });
  assert.deepEqual(listTypeErrors({ a: ['x', 'y', 'x'] }, schemaNode(set)).map(fieldErrorMessage), [
    'a[2]: Duplicate value: "x"',
  ]);
  const map = ofA({
    type: 'array',
    items: { type: 'object', properties: { id: { type: 'string' } } },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['id'],
  });
  assert.deepEqual(listTypeErrors({ a: [{ id: 'x', n: 1 }, { id: 'x' }] }, schemaNode(map)).map(fieldErrorMessage), [
    'a[1]: Duplicate value: map[string]interface {}{"id":"x"}',
  ]);
});

test('defaults are filled below other defaults, in items and values, and in place of nulls', () => {
  const schema = schemaNode({
    type: 'object',
    properties: {
      inner: { type: 'object', default: {}, properties: { a: { type: 'string', default: 'x' } } },
      list: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer', default: 3 } } } },
      map: { type: 'object', additionalProperties: { type: 'string', default: 'v' } },
    },
  });
  const value = { list: [{}, { n: 1 }], map: { k: null }, inner: null };
  assert.equal(lacksDefaults(value, schema), true);
  setCustomDefaults(value, schema);
  assert.deepEqual(value, { list: [{ n: 3 }, { n: 1 }], map: { k: 'v' }, inner: { a: 'x' } });
  assert.equal(lacksDefaults(value, schema), false);
});

test('a property may have the name of an Object.prototype member', () => {
  const schema = schemaNode(
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string","default":"d"}}}') as JsonObject,
  );
  const value: Record<string, Json> = {};
  setCustomDefaults(value, schema);
  assert.deepEqual(Object.entries(value), [['__proto__', 'd']]);
  assert.deepEqual(errorsOf({}, { type: 'object', required: ['constructor'] }), ['constructor: Required value']);
});

test('columns show the values at simple JSON paths', () => {
  const value = {
    a: [
      { t: 'x', v: 1 },
      { t: 'y', v: 2 },
    ],
    'b.c': { d: true },
    n: -1,
  };
  const find = (path: string): readonly Json[] | undefined => JsonPath.parse(path)?.find(value);
  assert.deepEqual(find('.a[0].v'), [1]);
  assert.deepEqual(find('.a[-1].v'), [2]);
  assert.deepEqual(find('.a[*].v'), [1, 2]);
  assert.deepEqual(find('.a[?(@.t=="y")].v'), [2]);
  assert.deepEqual(find('.a[?(@.v>1)].t'), ['y']);
  assert.deepEqual(find(".['b.c'].d"), [true]);
  assert.deepEqual(find('.b\\.c.d'), [true]);
  assert.deepEqual(find('.none.of.it'), []);
  assert.equal(find('.a[?('), undefined);
});

test('patterns use RE2 syntax and run in linear time', () => {
  const compiled = compilePattern('^(a+)+$');
  assert.equal(
    compiled.matches?.(`${'a'.repeat(50_000)}b`, () => {}),
    false,
  );
  assert.deepEqual(compilePattern('('), { problem: 'error parsing regexp: missing closing ): `(`' });
  assert.deepEqual(compilePattern('(?=a)'), {
    problem: 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
  });
  assert.ok('problem' in compilePattern('x'.repeat(5_000)));
});

test('the formats that Kubernetes checks are checked', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['datetime', '2024-01-02T03:04:05Z', true],
    ['datetime', '2024-13-02T03:04:05Z', false],
    ['date', '2024-02-30', false],
    ['ipv4', '::1', false],
    ['ipv6', '::1', true],
    ['cidr', '10.0.0.0/8', true],
    ['uuid', '123e4567-e89b-12d3-a456-426614174000', true],
    ['uri', 'https://a.example/x', true],
    ['uri', 'no uri', false],
    ['email', 'a@b.example', true],
    ['hostname', 'a_b', false],
    ['duration', '1h30m', true],
    ['duration', '-1.5h2.m.5s', true],
    ['duration', '1..5h', false],
    ['duration', '10', false],
    ['duration', '1 x', false],
    ['byte', 'YWJj', true],
    ['mac', '01:23:45:67:89:ab', true],
    ['isbn', '978-3-16-148410-0', true],
    ['rgbcolor', 'rgb(256,0,0)', false],
  ];
  for (const [format, text, fits] of cases) assert.equal(fitsFormat(format, text), fits, `${format} ${text}`);
});

test('schemas that are not structural are refused with the messages of Kubernetes', () => {
  const path = 'spec.validation.openAPIV3Schema.properties[a]';
  const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ type: 'array' }, [`${path}.items: Required value: must be specified`]],
    [
      { anyOf: [{ type: 'string' }] },
      [
        `${path}.anyOf[0].type: Forbidden: must be empty to be structural`,
        `${path}.type: Required value: must not be empty for specified object fields`,
      ],
    ],
    [{ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }, []],
    [
      { type: 'object', allOf: [{ properties: { b: { minimum: 1 } } }] },
      [`${path}.properties[b]: Required value: because it is defined in ${path}.allOf[0].properties[b]`],
    ],
    [{ type: 'string', $ref: '#/a' }, [`${path}.$ref: Forbidden: $ref is not supported`]],
    [
      { type: 'text' },
      [
        `${path}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
      ],
    ],
    [
      { type: 'string', default: 1 },
      [`${path}.default: Invalid value: "integer":  in body must be of type string: "integer"`],
    ],
    [
      { type: 'object', default: { b: 1 } },
      [`${path}.default: Invalid value: map[string]interface {}{"b":1}: must not have unknown fields`],
    ],
    [
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      [
        `${path}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
      ],
    ],
    [
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'bag' },
      [`${path}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"`],
    ],
    [
      { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
      [
        `${path}.items.x-kubernetes-map-type: Invalid value: "null": must be atomic as item of a list with x-kubernetes-list-type=set`,
      ],
    ],
    [
      { type: 'string', 'x-kubernetes-validations': [{ rule: ' ' }] },
      [`${path}.x-kubernetes-validations[0].rule: Required value: rule is not specified`],
    ],
  ];
  for (const [a, expected] of cases) assert.deepEqual(crdRefusals(ofA(a)), expected, JSON.stringify(a));
});

test('schemas that are too deep or too large are refused before they are compiled', () => {
  let deep: JsonObject = { type: 'object' };
  for (let i = 0; i < 80; i++) deep = ofA(deep);
  assert.deepEqual(crdRefusals(deep), [
    'spec.validation.openAPIV3Schema: Forbidden: must not be nested more than 64 levels deep',
  ]);
  const patterns = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`p${i}`, { type: 'string', pattern: 'x'.repeat(4_000) }]),
  );
  assert.deepEqual(crdRefusals({ type: 'object', properties: patterns }), [
    'spec.validation.openAPIV3Schema: Forbidden: must not have patterns of more than 65536 characters',
  ]);
});

test('validation of many values against many alternatives is bounded', () => {
  const anyOf = Array.from({ length: 2_000 }, (_, i) => ({ required: [`k${i}`] }));
  const errors = refusalsOf(
    Array.from({ length: 2_000 }, () => ({ k1999: 1 })),
    { type: 'array', items: { type: 'object', anyOf } },
  );
  assert.deepEqual(errors, [
    '<nil>: Invalid value: "": the object is too complex to be validated: 2000000 checks were not enough',
  ]);
});

const anyJson = (maxDepth: number): fc.Arbitrary<Json> => fc.jsonValue({ maxDepth }) as fc.Arbitrary<Json>;
const key = fc.string({ maxLength: 3 });

/** Arbitrary schemas, including invalid ones. */
function anySchema(depth: number): fc.Arbitrary<JsonObject> {
  const below: fc.Arbitrary<Json> = depth === 0 ? fc.constant({ type: 'string' }) : anySchema(depth - 1);
  return fc.record(
    {
      type: fc.constantFrom('object', 'array', 'string', 'integer', 'number', 'boolean', 'null', ''),
      properties: fc.dictionary(key, below, { maxKeys: 3 }),
      additionalProperties: fc.oneof(below, fc.boolean()),
      items: below,
      required: fc.array(key, { maxLength: 2 }),
      pattern: fc.string({ maxLength: 8 }),
      default: anyJson(2),
      enum: fc.array(anyJson(1), { maxLength: 2 }),
      minimum: fc.double({ noNaN: true, noDefaultInfinity: true }),
      anyOf: fc.array(below, { maxLength: 2 }),
      not: below,
      nullable: fc.boolean(),
      'x-kubernetes-list-type': fc.constantFrom('set', 'map', 'atomic', 'x'),
      'x-kubernetes-list-map-keys': fc.array(key, { maxLength: 2 }),
      'x-kubernetes-int-or-string': fc.boolean(),
      'x-kubernetes-embedded-resource': fc.boolean(),
      'x-kubernetes-preserve-unknown-fields': fc.boolean(),
    },
    { requiredKeys: [] },
  );
}

test('the server throws for no schema and no object', () => {
  fc.assert(
    fc.property(anySchema(2), anyJson(3), (schema, value) => {
      crdRefusals(schema);
      const node = schemaNode(schema);
      schemaErrors(value, node);
      listTypeErrors(value, node);
      setCustomDefaults(structuredClone(value), node);
      lacksDefaults(value, node);
    }),
    { numRuns: 200, seed: 7 },
  );
});
