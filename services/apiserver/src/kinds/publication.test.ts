import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createMemoryStore } from '@holdfast/store/memory';
import {
  CORALS,
  conditionsOf,
  coral,
  coralDefinition,
  define,
  definitionUrl,
  REEF,
  schemaWith,
  until,
} from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

/**
 * Two API servers on one store. Their clocks stand still, so no timer fires: a definition is published by the change
 * itself, not by a later look, however short its interval is.
 */
let writer: TestApi;
let reader: TestApi;

beforeEach(async () => {
  const store = createMemoryStore();
  writer = await startTestApi({ store, clock: createVirtualClock() });
  reader = await startTestApi({ store, clock: createVirtualClock() });
});
afterEach(async () => {
  await reader.server.stop();
  await writer.stop();
});

const AGGREGATED = { headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' } };
const OPENAPI_3 = '/openapi/v3/apis/reef.example.com/v1';

/** Where a kind with this field is missing. */
async function missingIn(api: TestApi, field: string): Promise<readonly string[]> {
  const has = async (url: string, text: string, call = {}): Promise<boolean> => {
    const { body } = await api.call('GET', url, call);
    return (typeof body === 'string' ? body : JSON.stringify(body)).includes(text);
  };
  const places: Readonly<Record<string, () => Promise<boolean>>> = {
    groups: () => has('/apis', 'reef.example.com'),
    resources: () => has(REEF, '"corals"'),
    'aggregated discovery': () => has('/apis', '"corals"', AGGREGATED),
    'index of OpenAPI 3': () => has('/openapi/v3', 'apis/reef.example.com/v1'),
    'OpenAPI 3': () => has(OPENAPI_3, `"${field}"`),
    'OpenAPI 2': () => has('/openapi/v2', `"${field}"`),
    objects: async () => (await api.call('GET', CORALS)).status === 200,
  };
  const missing: string[] = [];
  for (const [place, isThere] of Object.entries(places)) if (!(await isThere())) missing.push(place);
  return missing;
}

test('an established definition is published by all servers without a timer', async () => {
  await define(writer, coralDefinition({ spec: { depth: { type: 'integer' } } }));
  for (const api of [writer, reader]) await until(async () => (await missingIn(api, 'depth')).length === 0);
});

test('a changed schema is published by all servers, and used for writes, without a timer', async () => {
  await define(writer, coralDefinition({ spec: { depth: { type: 'integer' } } }));
  const body = [{ op: 'replace', path: '/spec/versions/0/schema', value: schemaWith({ colour: { type: 'string' } }) }];
  const headers = { 'content-type': 'application/json-patch+json' };
  const url = definitionUrl('corals.reef.example.com');
  assert.equal((await writer.call('PATCH', url, { body, headers })).status, 200);
  const made = await reader.call('POST', CORALS, { body: coral('a', { colour: 'red' }) });
  assert.deepEqual(made.at('spec'), { colour: 'red' }, JSON.stringify(made.body));
  for (const api of [writer, reader]) await until(async () => (await missingIn(api, 'colour')).length === 0);
});

test('a deleted definition disappears from all servers', async () => {
  await define(writer, coralDefinition({}));
  await until(async () => (await missingIn(reader, 'spec')).length === 0);
  await writer.call('DELETE', definitionUrl('corals.reef.example.com'));
  for (const api of [writer, reader]) {
    await until(
      async () => (await api.call('GET', CORALS)).status === 404 && (await api.call('GET', REEF)).status === 404,
    );
  }
});

test('a definition with a schema that is not structural is refused, so the condition NonStructuralSchema never appears', async () => {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { description: 'no type' } } } };
  const url = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const refused = await writer.call('POST', url, { body: coralDefinition({ version: { schema } }) });
  assert.equal(refused.status, 422);
  assert.match(refused.textAt('message'), /properties\[spec\]\.type: Required value/);
  await define(writer, coralDefinition({}));
  assert.equal('NonStructuralSchema' in (await conditionsOf(writer, 'corals.reef.example.com')), false);
});
