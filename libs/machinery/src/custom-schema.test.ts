import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyServerSide } from './apply.ts';
import { defaultCustomResource, pruneCustomResource, schemaOfCustomResource } from './custom-schema.ts';
import type { Json, JsonObject } from './json.ts';
import { managedFieldsOf, trackUpdate } from './managed-fields/track.ts';
import { objectMeta } from './testing-schemas.ts';

const openApi: JsonObject = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer', default: 1 },
        mode: { type: 'string', nullable: true, default: 'on' },
        port: { 'x-kubernetes-int-or-string': true },
        tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'kind'],
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              kind: { type: 'string', default: 'plain' },
              size: { type: 'integer' },
            },
          },
        },
        limits: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { max: { type: 'integer', default: 9 } } },
        },
        free: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { known: { type: 'object' } },
        },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  },
};
const schema = schemaOfCustomResource(openApi, objectMeta());
const resource = (spec: Json): JsonObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'x' },
  spec,
});

test('only the fields that the schema does not declare are pruned from a custom resource', () => {
  const sent = {
    ...resource({
      size: null,
      bogus: 1,
      tags: [],
      parts: [{ name: 'a', zip: 1 }],
      limits: { a: { max: 1, min: 1 } },
      free: { any: { thing: [] }, known: { no: 1 } },
      template: { kind: 'Pod', spec: { a: 1 }, metadata: { name: 'p', wrong: 1 } },
    }),
    extra: true,
  };
  const { value, unknownFields } = pruneCustomResource(sent, schema);
  assert.deepEqual(unknownFields, [
    'unknown field "spec.bogus"',
    'unknown field "spec.parts[0].zip"',
    'unknown field "spec.limits.a.min"',
    'unknown field "spec.free.known.no"',
    'unknown field "spec.template.metadata.wrong"',
    'unknown field "extra"',
  ]);
  assert.deepEqual(value['spec'], {
    size: null,
    tags: [],
    parts: [{ name: 'a' }],
    limits: { a: { max: 1 } },
    free: { any: { thing: [] }, known: {} },
    template: { kind: 'Pod', spec: { a: 1 }, metadata: { name: 'p' } },
  });
  assert.equal(pruneCustomResource(value, schema).value, value);
});

test('defaults replace missing values, and nulls where null is not allowed', () => {
  const sent = resource({ size: null, mode: null, parts: [{ name: 'a' }], limits: { a: {} } });
  const filled = defaultCustomResource(sent, openApi);
  assert.deepEqual(filled['spec'], {
    size: 1,
    mode: null,
    parts: [{ name: 'a', kind: 'plain' }],
    limits: { a: { max: 9 } },
  });
  assert.equal(defaultCustomResource(filled, openApi), filled);
  assert.deepEqual(defaultCustomResource(resource({}), openApi)['spec'], { size: 1, mode: 'on' });
});

test('custom resources are applied by their list types', () => {
  const apply = (live: JsonObject | undefined, spec: Json, manager: string): JsonObject =>
    applyServerSide({
      live,
      config: resource(spec),
      schema,
      manager,
      apiVersion: 'example.com/v1',
      force: false,
      time: '2024-01-01T00:00:00Z',
    }).object;
  const one = apply(undefined, { tags: ['a'], parts: [{ name: 'x', size: 1 }], free: { a: { b: 1 } } }, 'one');
  const two = apply(one, { tags: ['b'], parts: [{ name: 'y', kind: 'plain' }] }, 'two');
  assert.deepEqual(two['spec'], {
    tags: ['a', 'b'],
    parts: [
      { name: 'x', size: 1 },
      { name: 'y', kind: 'plain' },
    ],
    free: { a: { b: 1 } },
  });
  const entries = managedFieldsOf(two);
  assert.deepEqual(
    Array.isArray(entries) ? entries.map((entry: Json) => JSON.parse(JSON.stringify(entry)).fieldsV1['f:spec']) : [],
    [
      {
        'f:free': { 'f:a': { '.': {}, 'f:b': {} } },
        'f:parts': { 'k:{"kind":"plain","name":"x"}': { '.': {}, 'f:name': {}, 'f:size': {} } },
        'f:tags': { 'v:"a"': {} },
      },
      {
        'f:parts': { 'k:{"kind":"plain","name":"y"}': { '.': {}, 'f:kind': {}, 'f:name': {} } },
        'f:tags': { 'v:"b"': {} },
      },
    ],
  );
});

test('a created custom resource owns its structs too: none of them exists by default', () => {
  const created = trackUpdate({
    live: undefined,
    updated: resource({ size: 1 }),
    schema,
    manager: 'm',
    apiVersion: 'example.com/v1',
    time: '2024-01-01T00:00:00Z',
  });
  const [entry] = JSON.parse(JSON.stringify(managedFieldsOf(created)));
  assert.deepEqual(entry.fieldsV1, { 'f:spec': { '.': {}, 'f:size': {} } });
});
