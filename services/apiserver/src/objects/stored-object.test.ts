import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { asServed } from './stored-object.ts';

const CORE = '/api/v1/namespaces/default/events';
const NEW = '/apis/events.k8s.io/v1/namespaces/default/events';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const newEvent = {
  metadata: { name: 'e' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.com/c',
  reportingInstance: 'c-1',
  action: 'Tested',
  reason: 'Test',
  regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
  type: 'Normal',
};

test('an event of one API is the same event in the other: read, listed, watched, changed and deleted', async () => {
  const created = await api.call('POST', NEW, { body: newEvent });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const old = await api.call('GET', `${CORE}/e`);
  assert.deepEqual([old.at('apiVersion'), old.at('involvedObject.name')], ['v1', 'p']);
  const again = await api.call('GET', `${NEW}/e`);
  assert.deepEqual([again.at('apiVersion'), again.at('regarding.name')], ['events.k8s.io/v1', 'p']);
  assert.equal(again.at('metadata.resourceVersion'), created.at('metadata.resourceVersion'));
  assert.deepEqual((await api.call('GET', NEW)).names(), ['e']);
  const patched = await api.call('PATCH', `${NEW}/e`, { body: { metadata: { labels: { a: 'b' } } } });
  assert.equal(patched.status, 200, JSON.stringify(patched.body));
  assert.equal((await api.call('GET', `${CORE}/e`)).at('metadata.labels.a'), 'b');
  const [event] = await api.watch(`${NEW}?watch=1`, 1);
  assert.equal(valueAt(event?.object, 'regarding.name'), 'p');
  assert.equal((await api.call('DELETE', `${NEW}/e`)).status, 200);
  assert.equal((await api.call('GET', `${CORE}/e`)).status, 404);
});

test('a custom resource in another version than the stored one caches no bytes: no budget could drop them', () => {
  const same = (object: KubeObject): KubeObject => object;
  const custom = { conversion: 'None', sibling: () => undefined, readStored: same, fit: same };
  const inVersion = (version: string): ResourceDefinition =>
    ({ group: 'example.com', version, custom }) as unknown as ResourceDefinition;
  const text = encodeStored({ apiVersion: 'example.com/v1', kind: 'Coral', metadata: { name: 'a' } });
  const stored = new CachedObject('example.com/corals/default/a', text, 3);
  assert.equal(asServed(inVersion('v1'), stored), stored);
  const served = asServed(inVersion('v2'), stored);
  const read = JSON.parse(served.bytes.toString()) as KubeObject;
  assert.deepEqual([read.apiVersion, read.metadata.resourceVersion], ['example.com/v2', '3']);
  assert.equal(served.bytes.length, served.byteLength);
  assert.equal(served.keptBytes, 0);
});
