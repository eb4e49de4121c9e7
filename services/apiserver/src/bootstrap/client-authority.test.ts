import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApi } from '../testing/fixture.ts';

const KUBE_SYSTEM = '/api/v1/namespaces/kube-system';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system';

test('a scheduler of another implementation finds the client authority, and may read it', async () => {
  const api = await startTestApi({ clientCa: 'PEM' });
  try {
    const found = await api.call('GET', `${KUBE_SYSTEM}/configmaps/extension-apiserver-authentication`, {
      as: 'scheduler',
    });
    assert.equal(found.status, 200, JSON.stringify(found.body));
    assert.deepEqual(found.at('data'), { 'client-ca-file': 'PEM' });
    const binding = await api.call('GET', `${ROLES}/rolebindings/system::extension-apiserver-authentication-reader`);
    assert.equal(binding.at('roleRef.name'), 'extension-apiserver-authentication-reader');
  } finally {
    await api.stop();
  }
});

test('a server with another authority reports it at the start and keeps other keys of the ConfigMap', async () => {
  const first = await startTestApi({ clientCa: 'OLD' });
  const path = `${KUBE_SYSTEM}/configmaps/extension-apiserver-authentication`;
  await first.call('PATCH', path, { body: { data: { 'requestheader-allowed-names': '["front"]' } } });
  await first.server.stop();
  const second = await startTestApi({ clientCa: 'NEW', store: first.store });
  const found = await second.call('GET', path);
  assert.deepEqual(found.at('data'), { 'client-ca-file': 'NEW', 'requestheader-allowed-names': '["front"]' });
  await second.stop();
});
