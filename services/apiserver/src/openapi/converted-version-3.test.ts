import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { whole } from '../turns/parts.ts';
import { convertedToVersion3 } from './converted-version-3.ts';
import { foreignPart } from './foreign-version-2.ts';
import { openApi3Protobuf } from './version-3-protobuf.ts';

const ROOT = '/apis/example.com/v1/';
const KIND = [{ group: 'example.com', version: 'v1', kind: 'Fish' }];

const VERSION_2: JsonObject = {
  swagger: '2.0',
  paths: {
    [`${ROOT}fish/{name}`]: {
      parameters: [
        { name: 'name', in: 'path', required: true, type: 'string', uniqueItems: true },
        { $ref: '#/parameters/pretty' },
      ],
      put: {
        description: 'replace',
        operationId: 'replaceFish',
        tags: ['fish'],
        schemes: ['https'],
        consumes: ['application/json', 'application/yaml'],
        produces: ['application/json'],
        parameters: [
          { name: 'body', in: 'body', description: 'the fish', required: true, schema: { $ref: '#/definitions/Fish' } },
          { name: 'dryRun', in: 'query', type: 'string' },
        ],
        responses: { '200': { description: 'OK', schema: { $ref: '#/definitions/Fish' } }, '401': {} },
        'x-kubernetes-action': 'put',
      },
      post: { parameters: [{ $ref: '#/parameters/body' }], responses: {} },
      'x-owner': { consumes: ['kept as it is'] },
    },
  },
  definitions: {
    Fish: {
      type: 'object',
      required: ['fins'],
      properties: {
        $ref: { type: 'string' },
        fins: { type: 'array', items: { $ref: '#/definitions/Fin' } },
        names: { type: 'object', additionalProperties: { $ref: '#/definitions/Fin' } },
        all: { allOf: [{ $ref: '#/definitions/Fin' }], default: {} },
      },
      'x-kubernetes-group-version-kind': KIND,
    },
    Fin: { type: 'integer', format: 'int64' },
  },
  parameters: {
    pretty: { name: 'pretty', in: 'query', type: 'string' },
    body: { name: 'body', in: 'body', schema: { $ref: '#/definitions/Fin' } },
  },
};

const FISH = { schema: { $ref: '#/components/schemas/Fish' } };
const FIN = { $ref: '#/components/schemas/Fin' };

const VERSION_3: JsonObject = {
  openapi: '3.0.0',
  info: { title: 'apis/example.com/v1', version: 'unversioned' },
  paths: {
    [`${ROOT}fish/{name}`]: {
      parameters: [
        { name: 'name', in: 'path', required: true, schema: { type: 'string', uniqueItems: true } },
        { $ref: '#/components/parameters/pretty' },
      ],
      put: {
        description: 'replace',
        operationId: 'replaceFish',
        tags: ['fish'],
        parameters: [{ name: 'dryRun', in: 'query', schema: { type: 'string' } }],
        requestBody: {
          description: 'the fish',
          required: true,
          content: { 'application/json': FISH, 'application/yaml': FISH },
        },
        responses: {
          '200': { description: 'OK', content: { 'application/json': FISH } },
          '401': { description: '' },
        },
        'x-kubernetes-action': 'put',
      },
      post: { parameters: [], requestBody: { $ref: '#/components/requestBodies/body' }, responses: {} },
      'x-owner': { consumes: ['kept as it is'] },
    },
  },
  components: {
    schemas: {
      Fish: {
        type: 'object',
        required: ['fins'],
        properties: {
          $ref: { type: 'string' },
          fins: { type: 'array', items: FIN },
          names: { type: 'object', additionalProperties: FIN },
          all: { allOf: [FIN], default: {} },
        },
        'x-kubernetes-group-version-kind': KIND,
      },
      Fin: { type: 'integer', format: 'int64' },
    },
    requestBodies: { body: { content: { '*/*': { schema: FIN } } } },
    parameters: { pretty: { name: 'pretty', in: 'query', schema: { type: 'string' } } },
  },
};

const converted = (document: JsonObject): JsonObject =>
  whole(convertedToVersion3(whole(foreignPart(document, ROOT)), 'apis/example.com/v1'));

test('a document of version 2 becomes one of version 3, with its bodies, answers and references', () => {
  assert.deepEqual(converted(VERSION_2), VERSION_3);
  assert.ok(whole(openApi3Protobuf(converted(VERSION_2))).length > 0, 'clients get it in protobuf form, too');
});

test('an operation has at most 8 media types: each repeats the schema', () => {
  const produces = Array.from({ length: 1_000 }, (_, i) => `application/x${i}`);
  const answer = { description: '', schema: { type: 'object' } };
  const { paths } = converted({
    swagger: '2.0',
    paths: { [`${ROOT}x`]: { get: { produces, responses: { 200: answer } } } },
  });
  const item = (paths as JsonObject)[`${ROOT}x`] as { get: { responses: Record<string, { content: object }> } };
  assert.equal(Object.keys(item.get.responses['200']?.content ?? {}).length, 8);
});
