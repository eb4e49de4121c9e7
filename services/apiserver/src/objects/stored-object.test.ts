import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

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
