import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ENTRIES, MAX_VALUES, parseJson, StatusError } from '@holdfast/machinery';
import { decodeProtobufObject, encodeObject, inEnvelope } from './index.ts';
import { WIRE_FIELDS_MAX } from './wire-count.ts';
import { WireWriter } from './wire-writer.ts';

const META = { name: 'a' };
const POD = { apiVersion: 'v1', kind: 'Pod' };

/** What a refused body is told, by this decoder and by that of JSON. */
function refusalOf(decode: () => unknown): object {
  try {
    decode();
  } catch (error) {
    if (error instanceof StatusError) return { code: error.code, message: error.message };
    throw error;
  }
  return {};
}

/** A field without content, many times: two bytes each. */
const repeated = (field: number, times: number): Buffer =>
  Buffer.from(Array.from({ length: times }, () => [field * 8 + 2, 0]).flat());

function within(field: number, content: Uint8Array): Buffer {
  const writer = new WireWriter();
  writer.bytes(content);
  writer.varint(field * 8 + 2);
  return writer.finish();
}

const decodePod = (content: Uint8Array) => decodeProtobufObject(inEnvelope(POD, content));
const ofEntries = refusalOf(() => parseJson(JSON.stringify({ a: Array.from({ length: MAX_ENTRIES + 1 }, () => 0) })));
const ofValues = refusalOf(() => parseJson(JSON.stringify(lists(MAX_VALUES / 1_000 + 1))));

function lists(count: number): object {
  return Array.from({ length: count }, () => Array.from({ length: 1_000 }, () => 0));
}

test('a list or a map with too many entries is refused as in JSON', () => {
  const [spec, labels, containers] = [2, 11, 2];
  for (const [outer, field] of [
    [spec, containers],
    [1, labels],
  ] as const) {
    decodePod(within(outer, repeated(field, MAX_ENTRIES)));
    assert.deepEqual(
      refusalOf(() => decodePod(within(outer, repeated(field, MAX_ENTRIES + 1)))),
      ofEntries,
    );
  }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' };
  const groups = Array.from({ length: MAX_ENTRIES + 1 }, () => 'g');
  const texts = encodeObject({ ...review, metadata: META, spec: { extra: { scopes: groups } } }) ?? Buffer.alloc(0);
  assert.deepEqual(
    refusalOf(() => decodeProtobufObject(texts)),
    ofEntries,
  );
});

const HOSTILE: readonly { readonly title: string; readonly content: Buffer }[] = [
  { title: 'a message that is sent again', content: repeated(1, WIRE_FIELDS_MAX + 1) },
  { title: 'an unknown field', content: repeated(15, WIRE_FIELDS_MAX + 1) },
  { title: 'a time', content: within(1, within(8, repeated(3, WIRE_FIELDS_MAX + 1))) },
  { title: 'the key of an entry', content: within(1, within(11, repeated(1, WIRE_FIELDS_MAX + 1))) },
];

for (const { title, content } of HOSTILE) {
  test(`${title}, more often than a body has fields, is refused as too many values in JSON`, () => {
    assert.deepEqual(
      refusalOf(() => decodePod(content)),
      ofValues,
    );
  });
}

test('values of JSON inside messages count together', () => {
  const objectsOf = (lists: number): Buffer => {
    const managedFields = Array.from({ length: lists }, () => ({ manager: 'm', fieldsV1: { a: values } }));
    return encodeObject({ ...POD, metadata: { ...META, managedFields } }) ?? Buffer.alloc(0);
  };
  const values = Array.from({ length: MAX_ENTRIES }, () => 0);
  const most = Math.floor(WIRE_FIELDS_MAX / MAX_ENTRIES);
  decodeProtobufObject(objectsOf(most - 1));
  assert.deepEqual(
    refusalOf(() => decodeProtobufObject(objectsOf(most))),
    ofValues,
  );
});

test('as many values as a JSON body may have are decoded, with the zeros that Go writes', () => {
  const entry = { name: 'x', value: 'v' };
  const containers = Array.from({ length: 3 }, (_, i) => ({
    name: `c${i}`,
    env: Array.from({ length: MAX_ENTRIES }, () => entry),
  }));
  const object = { ...POD, metadata: META, spec: { containers } };
  parseJson(JSON.stringify(object));
  const { spec } = decodeProtobufObject(encodeObject(object) ?? Buffer.alloc(0));
  assert.deepEqual((spec as typeof object.spec).containers.at(-1)?.env.length, MAX_ENTRIES);
});
