import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { readApiServerConfig } from '../config.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const FILES = ['--tls-cert-file=c', '--tls-key-file=k', '--token-file=t'];
const URL = '/api/v1/namespaces/default/services';
const service = (...externalIPs: readonly string[]) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: { ports: [{ port: 80 }], externalIPs },
});
const seen = (answer: Answer): unknown => [answer.status, answer.at('message')];
const REFUSAL = [403, 'services "web" is forbidden: Use of external IPs is denied by admission control'];

async function startApi(t: TestContext, { store = createMemoryStore(), plugin = false } = {}): Promise<TestApi> {
  const api = await startTestApi({ store, optionalPlugins: new Set(plugin ? ['DenyServiceExternalIPs'] : []) });
  t.after(() => api.stop());
  return api;
}

test('with DenyServiceExternalIPs a service gets no external address', async (t) => {
  const api = await startApi(t, { plugin: true });
  assert.deepEqual(seen(await api.call('POST', URL, { body: service('192.0.2.1') })), REFUSAL);
  assert.equal((await api.call('POST', URL, { body: service() })).status, 201);
  const patch = { spec: { externalIPs: ['192.0.2.1'] } };
  assert.deepEqual(seen(await api.call('PATCH', `${URL}/web`, { body: patch })), REFUSAL);
});

test('a service keeps the external addresses that it has, and gets no other one', async (t) => {
  const store = createMemoryStore();
  const [before, api] = await Promise.all([startApi(t, { store }), startApi(t, { store, plugin: true })]);
  assert.equal((await before.call('POST', URL, { body: service('192.0.2.1', '192.0.2.2') })).status, 201);
  const change = (externalIPs: readonly string[]) =>
    api.call('PATCH', `${URL}/web`, { body: { spec: { externalIPs } } });
  assert.equal((await change(['192.0.2.2'])).status, 200);
  assert.deepEqual(seen(await change(['192.0.2.2', '192.0.2.3'])), REFUSAL);
  assert.equal((await api.call('PATCH', `${URL}/web`, { body: { metadata: { labels: { a: 'b' } } } })).status, 200);
});

test('the plugin is off by default, and an unknown one is refused', () => {
  const read = (...args: string[]) => readApiServerConfig({ argv: [...FILES, ...args], env: {} })?.optionalPlugins;
  assert.deepEqual(read(), new Set());
  assert.deepEqual(read('--enable-admission-plugins=DenyServiceExternalIPs'), new Set(['DenyServiceExternalIPs']));
  assert.throws(() => read('--enable-admission-plugins=Other'), /DenyServiceExternalIPs/);
});
