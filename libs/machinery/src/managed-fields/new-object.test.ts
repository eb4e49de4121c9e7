import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FieldSet, fieldSetOf, isEmptySet, unionOf } from '../fieldpath/field-set.ts';
import { encodeFieldsV1 } from '../fieldpath/fields-v1.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Schema, StructSchema } from '../schema.ts';
import { configMap, deployment, pod } from '../testing-schemas.ts';
import { compareTyped, excludeFields } from '../typed/compare.ts';
import { unsetObject } from '../typed/unset.ts';
import { fieldsOfNewObject } from './new-object.ts';
import { withoutServerFields } from './owners.ts';
import { fieldSetFrom, fieldsText, sharedFields } from './shared-fields.ts';

const STATUS = fieldSetOf(['f:status']);

/** The reference implementation: compares two sets of paths. */
function byComparing(object: JsonObject, schema: StructSchema, reset: FieldSet | undefined): string | undefined {
  const { modified, added } = excludeFields(compareTyped(unsetObject(schema), object, schema), reset);
  const fields = withoutServerFields(unionOf(modified, added));
  return isEmptySet(fields) ? undefined : JSON.stringify(encodeFieldsV1(fields));
}

const text = fc.constantFrom('', 'a', 'b.c/d', 'Z"', 'e f', '__proto__', 'constructor', '0');
const anything: fc.Arbitrary<Json> = fc.oneof(
  text,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 2 }),
  fc.dictionary(text, text, { maxKeys: 2 }),
);

/** Values as a request may contain them, including some of the wrong type. */
function valueOf(schema: Schema, depth: number): fc.Arbitrary<Json> {
  if (depth > 7 || schema.kind === 'any') return anything;
  switch (schema.kind) {
    case 'scalar':
      return schema.scalar === 'int32' || schema.scalar === 'int64' ? fc.integer({ min: 0, max: 2 }) : text;
    case 'map':
      return fc.dictionary(text, valueOf(schema.values(), depth + 1), { maxKeys: 3 });
    case 'list':
      return fc.array(valueOf(schema.items(), depth + 1), { maxLength: 3 });
    case 'struct':
      return objectOf(schema, depth);
  }
}

function objectOf(schema: StructSchema, depth: number): fc.Arbitrary<JsonObject> {
  const fields = Object.entries(schema.fields).map(([name, { type }]) => {
    const value = fc.oneof({ weight: 9, arbitrary: valueOf(type(), depth + 1) }, { weight: 1, arbitrary: anything });
    return [name, fc.option(value, { nil: undefined, freq: depth < 2 ? 8 : 1 })] as const;
  });
  return fc.record(Object.fromEntries(fields)).map((object): JsonObject => JSON.parse(JSON.stringify(object)));
}

for (const [kind, schema] of [
  ['Pod', pod()],
  ['Deployment', deployment()],
  ['ConfigMap', configMap()],
] as const) {
  test(`one walk over a new ${kind} gives the same owned fields as a comparison`, () => {
    fc.assert(
      fc.property(objectOf(schema, 0), fc.constantFrom(undefined, STATUS), (object, reset) => {
        assert.equal(fieldsOfNewObject(object, { schema, reset }), byComparing(object, schema, reset));
      }),
      { numRuns: 300 },
    );
  });
}

test('equal field texts are one frozen value with a cached text', () => {
  const one = sharedFields('{"f:data":{".":{},"f:a":{}}}');
  assert.equal(sharedFields('{"f:data":{".":{},"f:a":{}}}'), one);
  assert.equal(fieldsText(one), '{"f:data":{".":{},"f:a":{}}}');
  assert.equal(fieldsText({ 'f:x': {} }), '{"f:x":{}}');
  assert(Object.isFrozen(one['f:data']));
});

test('shared field sets are built once, others each time', () => {
  const shared = sharedFields('{"f:spec":{"f:replicas":{}}}');
  assert.equal(fieldSetFrom(shared), fieldSetFrom(shared));
  assert.deepEqual(encodeFieldsV1(fieldSetFrom(shared)), shared);
  const own = { 'f:spec': { 'f:replicas': {} } };
  assert.notEqual(fieldSetFrom(own), fieldSetFrom(own));
  assert.deepEqual(fieldSetFrom(own), fieldSetFrom(shared));
});

test('the number of cached field texts is bounded, and an evicted text reads the same when it comes again', () => {
  const textAt = (i: number): string => `{"f:n${i}":{}}`;
  const first = sharedFields(textAt(0));
  const set = fieldSetFrom(first);
  for (let i = 1; i <= 600; i += 1) sharedFields(textAt(i));
  assert.notEqual(sharedFields(textAt(0)), first, 'forgotten');
  assert.deepEqual(sharedFields(textAt(0)), { 'f:n0': {} });
  assert.notEqual(fieldSetFrom(first), fieldSetFrom(first), 'its set, too');
  assert.deepEqual(fieldSetFrom(first), set);
  assert.equal(fieldsText(first), textAt(0));
});
