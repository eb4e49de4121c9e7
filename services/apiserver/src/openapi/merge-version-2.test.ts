import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '@holdfast/machinery';
import fc from 'fast-check';
import { whole } from '../turns/parts.ts';
import { foreignPart } from './foreign-version-2.ts';
import { mergeOpenApi2 } from './merge-version-2.ts';
import { openApi2Protobuf } from './version-2-protobuf.ts';

const ROOT = '/apis/example.com/v1/';
const FISH = `${ROOT}fish`;
const reference = (name: string): JsonObject => ({ $ref: `#/definitions/${name}` });
const answering = (schema: JsonObject): JsonObject => ({
  get: { responses: { '200': { description: 'OK', schema } } },
});

const documentOf = (
  definitions: JsonObject,
  paths: JsonObject = { [FISH]: answering(reference('Fish')) },
): JsonObject => ({
  swagger: '2.0',
  paths,
  definitions,
});
const partOf = (document: unknown) => whole(foreignPart(document, ROOT));
const merged = (own: JsonObject, ...others: readonly JsonObject[]): JsonObject =>
  whole(mergeOpenApi2(own, others.map(partOf)));

const OWN = documentOf(
  { Meta: { type: 'object', description: 'ours' }, Same: { type: 'string' } },
  { '/api/v1/pods': answering(reference('Meta')) },
);

test('paths of other group-versions and unreferenced definitions are not merged', () => {
  const definitions = { Fish: { type: 'object' }, Unused: { type: 'object' } };
  const paths = { [FISH]: answering(reference('Fish')), '/api/v1/pods': answering({}), '/apis/example.com/v11/x': {} };
  const document = merged(OWN, documentOf(definitions, paths));
  assert.deepEqual(Object.keys(document['paths'] as object), ['/api/v1/pods', FISH]);
  assert.deepEqual((document['paths'] as JsonObject)['/api/v1/pods'], answering(reference('Meta')));
  assert.deepEqual(Object.keys(document['definitions'] as object), ['Meta', 'Same', 'Fish']);
});

test('a definition under a used name is renamed, in every reference', () => {
  const fish = { type: 'object', properties: { meta: reference('Meta'), same: reference('Same') } };
  const theirs = { Fish: fish, Meta: { type: 'object', description: 'theirs' }, Same: { type: 'string' } };
  const { definitions } = merged(OWN, documentOf(theirs));
  assert.deepEqual(definitions, {
    Meta: { type: 'object', description: 'ours' },
    Same: { type: 'string' },
    Fish: { type: 'object', properties: { meta: reference('Meta_v2'), same: reference('Same') } },
    Meta_v2: { type: 'object', description: 'theirs' },
  });
});

test('servers with the same definition share its new name, and the next gets the next', () => {
  const meta = (description: string): JsonObject =>
    documentOf({ Meta: { type: 'object', description } }, { [`${ROOT}${description}`]: answering(reference('Meta')) });
  const { definitions, paths } = merged(OWN, meta('a'), meta('b'), meta('a'));
  assert.deepEqual(Object.keys(definitions as object), ['Meta', 'Same', 'Meta_v2', 'Meta_v3']);
  assert.deepEqual((paths as JsonObject)[`${ROOT}b`], answering(reference('Meta_v3')));
});

test('the kinds of a shared definition are merged', () => {
  const kindOf = (kind: string): JsonObject => ({ group: '', version: 'v1', kind });
  const options = (...kinds: string[]): JsonObject => ({
    Options: { type: 'object', 'x-kubernetes-group-version-kind': kinds.map(kindOf) },
  });
  const paths = { [FISH]: answering(reference('Options')) };
  const { definitions } = merged(documentOf(options('A', 'B')), documentOf(options('B', 'C'), paths));
  assert.deepEqual(definitions, options('A', 'B', 'C'));
});

test('merging a definition with very many kinds takes linear time', () => {
  const kinds = (count: number): JsonObject => ({
    Options: {
      type: 'object',
      'x-kubernetes-group-version-kind': Array.from({ length: count }, (_, i) => ({
        group: '',
        version: 'v1',
        kind: `K${i}`,
      })),
    },
  });
  const { definitions } = merged(
    documentOf(kinds(1)),
    documentOf(kinds(80_000), { [FISH]: answering(reference('Options')) }),
  );
  assert.deepEqual(definitions, kinds(80_000));
});

test('shared parameters are merged, and renamed on a conflict', () => {
  const withParameter = (path: string, parameter: JsonObject): JsonObject => ({
    ...documentOf({}, { [path]: { parameters: [{ $ref: '#/parameters/p' }] } }),
    parameters: { p: parameter },
  });
  const own = withParameter('/api/v1/x', { name: 'p', in: 'query', type: 'string' });
  const { parameters, paths } = merged(own, withParameter(FISH, { name: 'p', in: 'query', type: 'integer' }));
  assert.deepEqual(parameters, {
    p: { name: 'p', in: 'query', type: 'string' },
    p_v2: { name: 'p', in: 'query', type: 'integer' },
  });
  assert.deepEqual((paths as JsonObject)[FISH], { parameters: [{ $ref: '#/parameters/p_v2' }] });
});

test('a definition named like an Object.prototype member is merged like others', () => {
  const definitions = JSON.parse('{"__proto__":{"type":"object"},"constructor":{"type":"string"}}') as JsonObject;
  const paths = { [FISH]: answering(reference('__proto__')), [`${FISH}2`]: answering(reference('constructor')) };
  const document = merged(OWN, documentOf(definitions, paths));
  assert.deepEqual(Object.keys(document['definitions'] as object), ['Meta', 'Same', '__proto__', 'constructor']);
});

const deep = (levels: number): Json => (levels === 0 ? { type: 'string' } : { type: 'array', items: deep(levels - 1) });

for (const [what, document, why] of [
  ['no document', [], /not an OpenAPI 2 document/],
  ['a document of another version', { openapi: '3.0.0' }, /not an OpenAPI 2 document/],
  ['a reference to nothing', documentOf({}), /leads to nothing/],
  ['a reference elsewhere', documentOf({ Fish: { $ref: 'https://example.com/x' } }), /does not lead to a definition/],
  ['an array of nothing', documentOf({ Fish: { type: 'array' } }), /no schema of items/],
  ['an unknown type', documentOf({ Fish: { type: ['object', 'null'] } }), /member type/],
  ['a text that is none', documentOf({ Fish: { description: 5 } }), /member description/],
  ['a schema without an end', documentOf({ Fish: deep(500) }), /levels deep/],
  ['a number that is none', documentOf({ Fish: JSON.parse('{"minimum":1e999}') }), /member minimum/],
  ['half a length', documentOf({ Fish: { maxLength: 1.5 } }), /member maxLength/],
  ['a default value without an end', documentOf({ Fish: { default: deep(500) } }), /member default/],
  ['an extension without an end', documentOf({ Fish: { 'x-a': deep(500) } }), /x-a is nested/],
  ['an extension of a path without an end', documentOf({}, { [FISH]: { 'x-a': deep(500) } }), /x-a is nested/],
  ['properties that are none', documentOf({ Fish: { properties: [] } }), /not an object/],
] as const) {
  test(`a document that clients could not parse is refused: ${what}`, () => {
    assert.throws(() => partOf(document), why);
  });
}

test('any foreign document gives a merged document that is serializable and has no dangling reference', () => {
  const name = fc.constantFrom('Fish', 'Meta', 'Same', '__proto__', 'a');
  const schema = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      name.map(reference),
      fc.constantFrom<Json>('string', 'object', 'array', 7).map((type) => ({ type })),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.dictionary(name, tie('schema')).map((properties) => ({ type: 'object', properties })),
      fc.jsonValue(),
    ),
  })).schema as fc.Arbitrary<Json>;
  const item = fc.oneof(
    schema.map((each) => answering(each as JsonObject)),
    fc.jsonValue(),
  );
  const documents = fc.record({
    swagger: fc.constant('2.0'),
    paths: fc.dictionary(
      name.map((each) => `${ROOT}${each}`),
      item,
    ),
    definitions: fc.dictionary(name, schema),
    parameters: fc.jsonValue(),
  });
  let taken = 0;
  fc.assert(
    fc.property(documents, (document) => {
      let part: ReturnType<typeof partOf>;
      try {
        part = partOf(document);
      } catch {
        return;
      }
      taken += 1;
      const result = whole(mergeOpenApi2(OWN, [part]));
      whole(openApi2Protobuf(result));
      const names = new Set(Object.keys(result['definitions'] as object));
      for (const [, to = ''] of JSON.stringify(result).matchAll(/"\$ref":"#\/definitions\/([^"]*)"/g)) {
        assert.ok(names.has(to), to);
      }
    }),
    { numRuns: 200, seed: 1 },
  );
  assert.ok(taken > 20, `${taken} documents were fit`);
});
