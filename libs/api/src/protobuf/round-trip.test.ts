import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScalarType, Schema, StructSchema } from '@holdfast/machinery';
import fc from 'fast-check';
import { allResources } from '../registry.ts';
import { schemaFor } from '../schema-table.ts';
import { decodeProtobufObject, encodeObject, messageName } from './index.ts';
import { messageOf } from './message-table.ts';

const DEPTH_MAX = 9;

const SCALARS: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  string: fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom('Grüße', '日本', '😀')),
  boolean: fc.boolean(),
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
  quantity: fc.constantFrom('0', '100m', '1Gi', '12e6'),
  intOrString: fc.oneof(fc.integer(), fc.constantFrom('http', '25%')),
  time: fc.constantFrom('2023-11-14T22:13:20Z', '1970-01-01T00:00:00Z', '1969-12-31T23:59:59Z'),
  microTime: fc.constantFrom('2023-11-14T22:13:20.000005Z', '2023-11-14T22:13:20.000000Z'),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64')),
};

function valueOf(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (schema.kind) {
    case 'scalar':
      return SCALARS[schema.scalar];
    case 'any':
      return fc.constant({ description: 'a' });
    case 'list':
      return depth > DEPTH_MAX ? fc.constant([]) : fc.array(valueOf(schema.items(), depth + 1), { maxLength: 2 });
    case 'map':
      return depth > DEPTH_MAX
        ? fc.constant({})
        : fc.dictionary(fc.stringMatching(/^[a-z./]{1,8}$/), valueOf(schema.values(), depth + 1), { maxKeys: 3 });
    case 'struct':
      return depth > DEPTH_MAX ? fc.constant({}) : structOf(schema, depth + 1);
  }
}

/** The kind of a nested object follows from its position: Go has no protobuf field for it. */
const isUntold = (struct: StructSchema, name: string): boolean =>
  (name === 'apiVersion' || name === 'kind') && ![...messageOf(struct.name).values()].some(({ json }) => json === name);

/** Only a few fields per struct: generation would not end otherwise. */
function structOf(struct: StructSchema, depth: number): fc.Arbitrary<object> {
  const names = Object.keys(struct.fields).filter((name) => !isUntold(struct, name));
  return fc
    .subarray(names, { maxLength: Math.min(names.length, depth < 4 ? names.length : 4) })
    .chain((chosen) =>
      fc.record(Object.fromEntries(chosen.map((name) => [name, valueOf(fieldType(struct, name), depth)]))),
    );
}

function fieldType(struct: StructSchema, name: string): Schema {
  const field = struct.fields[name];
  assert.ok(field !== undefined);
  return field.type();
}

/** Removes what Go prints or omits by itself. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => bare(each) ?? null);
  if (typeof value !== 'object' || value === null) return isNothing(value) ? undefined : value;
  const left = Object.entries(value).flatMap(([key, each]) => {
    const kept = bare(each);
    return kept === undefined || (Array.isArray(kept) && kept.length === 0) ? [] : [[key, kept]];
  });
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

const isNothing = (value: unknown): boolean =>
  value === '' || value === 0 || value === '0' || value === '0s' || value === false || value === null;

for (const { group, version, kind } of allResources()) {
  const apiVersion = group === '' ? version : `${group}/${version}`;

  test(`${apiVersion} ${kind}: encoding, decoding and encoding again gives the same object and bytes`, () => {
    const schema = schemaFor(group, version, kind);
    assert.ok(schema !== undefined);
    assert.ok(messageName(apiVersion, `${kind}List`) !== undefined, 'its list has a message');
    const objects = structOf(schema, 0).map((fields) => ({ ...fields, apiVersion, kind }));
    fc.assert(
      fc.property(objects, (object) => {
        const encoded = encodeObject(object);
        assert.ok(encoded !== undefined);
        const decoded = decodeProtobufObject(encoded);
        assert.deepEqual(bare(decoded), bare(object));
        assert.deepEqual(encodeObject(decoded), encoded);
      }),
      { numRuns: 15 },
    );
  });
}

test('every field of every kind has a place in its message', () => {
  const seen = new Set<string>();
  const missing: string[] = [];
  const look = (schema: Schema): void => {
    if (schema.kind === 'list') return look(schema.items());
    if (schema.kind === 'map') return look(schema.values());
    if (schema.kind !== 'struct' || seen.has(schema.name)) return;
    seen.add(schema.name);
    const placed = placesIn(schema.name);
    for (const name of Object.keys(schema.fields).filter((each) => !isUntold(schema, each))) {
      if (!placed.has(name)) missing.push(`${schema.name}.${name}`);
      look(fieldType(schema, name));
    }
  };
  for (const { group, version, kind } of allResources()) {
    const schema = schemaFor(group, version, kind);
    if (schema !== undefined) look(schema);
  }
  assert.deepEqual(missing, []);
  assert.ok(seen.size > 300, `${seen.size} structs were looked at`);
});

const placesIn = (message: string): ReadonlySet<string> =>
  new Set(
    [...messageOf(message).values()].flatMap(({ json, type, inline }) => (inline ? [...placesIn(type)] : [json])),
  );
