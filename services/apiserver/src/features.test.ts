import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readApiServerConfig } from './config.ts';
import { startTestApi } from './testing/fixture.ts';

const spec = { hostUsers: false, containers: [{ name: 'main', image: 'busybox' }] };
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'own-users', namespace: 'default' }, spec };
const labels = { app: 'own-users' };
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'own-users', namespace: 'default' },
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
};

async function created(t: TestContext, userNamespacesSupport: boolean | undefined) {
  const api = await startTestApi(userNamespacesSupport === undefined ? {} : { features: { userNamespacesSupport } });
  t.after(() => api.stop());
  const plain = await api.call('POST', '/api/v1/namespaces/default/pods', { body: pod });
  const template = await api.call('POST', '/apis/apps/v1/namespaces/default/deployments', { body: deployment });
  assert.deepEqual([plain.status, template.status], [201, 201]);
  return [plain.at('spec.hostUsers'), template.at('spec.template.spec.hostUsers')];
}

test('[USERNS-01] with the gate on, the server keeps the wish for a user namespace, also in templates', async (t) => {
  assert.deepEqual(await created(t, true), [false, false]);
});

test('[USERNS-01] the gate is off by default: the wish is dropped, as 1.32 does', async (t) => {
  assert.deepEqual(await created(t, undefined), [undefined, undefined]);
  assert.deepEqual(await created(t, false), [undefined, undefined]);
});

test('the gate is given by --feature-gates, and an unknown one ends the program with a sentence', () => {
  const files = ['--tls-cert-file=c', '--tls-key-file=k', '--token-file=t'];
  const featuresOf = (...more: string[]) => readApiServerConfig({ argv: [...files, ...more], env: {} })?.features;
  assert.deepEqual(featuresOf(), { userNamespacesSupport: false });
  assert.deepEqual(featuresOf('--feature-gates=UserNamespacesSupport=true'), { userNamespacesSupport: true });
  assert.throws(() => featuresOf('--feature-gates=Nope=true'), /does not take "Nope=true"/);
});
