import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { coralDefinition, define } from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

let count = 0;

/** The OpenAPI 2 schema of a kind, without common parts. */
async function inVersion2(openAPIV3Schema: unknown): Promise<unknown> {
  count += 1;
  const group = `g${count}.example.com`;
  const definition = coralDefinition({ version: { schema: { openAPIV3Schema } }, definition: { group } }) as {
    metadata: { name: string };
  };
  definition.metadata.name = `corals.${group}`;
  await define(api, definition);
  const { body } = await api.call('GET', '/openapi/v2');
  const schema = new Map(
    Object.entries((body as { definitions: Record<string, Record<string, unknown>> }).definitions),
  ).get(`com.example.g${count}.v1.Coral`);
  const { 'x-kubernetes-group-version-kind': _kind, properties, ...rest } = schema ?? {};
  if (properties === undefined) return rest;
  const { apiVersion, kind: name, metadata, ...own } = properties as Record<string, { description: string }>;
  assert.match(
    [apiVersion, name, metadata].map((each) => each?.description).join('\n'),
    /^APIVersion defines.*\nKind is.*\nStandard object's metadata/,
  );
  return { ...rest, properties: own };
}

const field = (schema: unknown): unknown => ({ type: 'object', properties: { spec: schema } });

test('a schema that OpenAPI 2 can express is published unchanged', async () => {
  const spec = {
    description: 'what is wanted',
    type: 'object',
    required: ['names'],
    properties: {
      names: {
        type: 'array',
        items: { type: 'string', pattern: '^a', enum: ['a', 'ab'] },
        'x-kubernetes-list-type': 'set',
      },
      size: { type: 'integer', minimum: 1, format: 'int32' },
    },
  };
  assert.deepEqual(await inVersion2(field(spec)), field(spec));
});

test('a kind with an open root publishes no properties, so that clients refuse none', async () => {
  const open = { description: 'open', type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  assert.deepEqual(await inVersion2(open), { type: 'object' });
});

test('schemas that OpenAPI 2 cannot express are left open', async () => {
  const open = { 'x-kubernetes-preserve-unknown-fields': true };
  const spec = {
    type: 'object',
    required: ['maybe', 'sure'],
    properties: {
      maybe: { type: 'string', nullable: true, description: 'may be null' },
      sure: { type: 'string', default: 'yes' },
      anything: { type: 'object', properties: { a: { type: 'string' } }, ...open },
      list: { type: 'array', ...open, items: { type: 'object', ...open } },
      port: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
    },
  };
  assert.deepEqual(await inVersion2(field(spec)), {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['sure'],
        properties: {
          maybe: { description: 'may be null' },
          sure: { type: 'string' },
          anything: open,
          list: open,
          port: { 'x-kubernetes-int-or-string': true },
        },
      },
    },
  });
});

test('the listed patch types of a custom kind are those that it accepts, so that clients send no strategic patch', async () => {
  await define(api, coralDefinition({}));
  const path = '/apis/reef.example.com/v1/namespaces/{namespace}/corals/{name}';
  const taken = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
  const texts = ['application/json', 'application/yaml'];
  interface Operation {
    readonly consumes: readonly string[];
    readonly produces: readonly string[];
    readonly requestBody: { readonly content: object };
  }
  type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const item2 = ((await api.call('GET', '/openapi/v2')).at('paths') as Paths)[path];
  assert.deepEqual(
    [item2?.['patch']?.consumes, item2?.['put']?.consumes, item2?.['get']?.produces],
    [taken, texts, texts],
  );
  const item3 = ((await api.call('GET', '/openapi/v3/apis/reef.example.com/v1')).at('paths') as Paths)[path];
  assert.deepEqual(Object.keys(item3?.['patch']?.requestBody.content ?? {}), taken);
  const builtIn = ((await api.call('GET', '/openapi/v2')).at('paths') as Paths)['/api/v1/nodes/{name}'];
  assert.ok(builtIn?.['patch']?.consumes.includes('application/strategic-merge-patch+json'));
});
