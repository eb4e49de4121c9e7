import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DEFAULT_FEATURES } from '@holdfast/api';
import { readApiServerConfig } from '../config.ts';
import { startTestApi } from '../testing/fixture.ts';

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
  const api = await startTestApi(
    userNamespacesSupport === undefined ? {} : { features: { ...DEFAULT_FEATURES, userNamespacesSupport } },
  );
  t.after(() => api.stop());
  const plain = await api.call('POST', '/api/v1/namespaces/default/pods', { body: pod });
  const template = await api.call('POST', '/apis/apps/v1/namespaces/default/deployments', { body: deployment });
  assert.deepEqual([plain.status, template.status], [201, 201]);
  return [plain.at('spec.hostUsers'), template.at('spec.template.spec.hostUsers')];
}

test('[USERNS-01] with the gate on, the server keeps hostUsers, also in templates', async (t) => {
  assert.deepEqual(await created(t, true), [false, false]);
});

test('[USERNS-01] the gate is off by default: hostUsers is dropped as in 1.32', async (t) => {
  assert.deepEqual(await created(t, undefined), [undefined, undefined]);
  assert.deepEqual(await created(t, false), [undefined, undefined]);
});

test('--feature-gates sets the gate, and an unknown gate ends the program with one sentence', () => {
  const files = ['--tls-cert-file=c', '--tls-key-file=k', '--token-file=t'];
  const featuresOf = (...more: string[]) => readApiServerConfig({ argv: [...files, ...more], env: {} })?.features;
  assert.deepEqual(featuresOf(), { userNamespacesSupport: false, podPriority: true });
  const turned = featuresOf('--feature-gates=UserNamespacesSupport=true,PodPriority=false');
  assert.deepEqual(turned, { userNamespacesSupport: true, podPriority: false });
  assert.throws(() => featuresOf('--feature-gates=Nope=true'), /does not take "Nope=true"/);
});

test('[PRIO-14] without PodPriority no pod gets a priority, a class is refused, and existing pods keep theirs', async (t) => {
  const api = await startTestApi({ features: { ...DEFAULT_FEATURES, podPriority: false } });
  t.after(() => api.stop());
  const important = {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'important' },
    value: 7,
  };
  const made = await api.call('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', { body: important });
  assert.equal(made.status, 201);
  const create = (name: string, more: object) => {
    const body = { ...pod, metadata: { name, namespace: 'default' }, spec: { containers: spec.containers, ...more } };
    return api.call('POST', '/api/v1/namespaces/default/pods', { body });
  };
  const refused = await create('with-class', { priorityClassName: 'important' });
  assert.equal(refused.status, 403);
  assert.match(String(refused.at('message')), /PodPriority/);
  const plain = await create('plain', {});
  assert.deepEqual([plain.status, plain.at('spec.priority')], [201, undefined]);
  // As for a pod from before the gate was changed.
  const old = await create('old', { priority: 7 });
  assert.deepEqual([old.status, old.at('spec.priority')], [201, 7]);
  const labelled = await api.call('PATCH', '/api/v1/namespaces/default/pods/old', {
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assert.deepEqual([labelled.status, labelled.at('spec.priority')], [200, 7]);
});
