import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { forceDeleteWarning } from './plugins/pod-ownership.ts';

const PODS = '/api/v1/namespaces/default/pods';

interface Scene {
  readonly api: TestApi;
  readonly uid: string;
}

/** Node a with one pod on it. */
async function boundPod(spec: Readonly<Record<string, unknown>> = {}, rule?: 'off'): Promise<Scene> {
  const api = await startTestApi(rule === undefined ? {} : { ownershipRule: rule });
  await api.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'a' } } });
  const pod = await api.call('POST', PODS, { body: podBody('p', { spec }) });
  const target = { kind: 'Node', name: 'a' };
  const bound = await api.call('POST', `${PODS}/p/binding`, {
    as: 'scheduler',
    body: { metadata: { name: 'p' }, target },
  });
  assert.equal(bound.status, 201, JSON.stringify(bound.body));
  return { api, uid: pod.textAt('metadata.uid') };
}

async function forceDelete({ api, uid }: Scene, as: string, withUid = true): Promise<number> {
  const preconditions = withUid ? { preconditions: { uid } } : {};
  return (await api.call('DELETE', `${PODS}/p`, { as, body: { gracePeriodSeconds: 0, ...preconditions } })).status;
}

const taintOutOfService = (api: TestApi) =>
  api.call('PATCH', '/api/v1/nodes/a', {
    body: { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } },
  });

test('[SAFE-01] a second binding is refused and names the node of the pod', async () => {
  const { api } = await boundPod();
  const body = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'b' } };
  const again = await api.call('POST', `${PODS}/p/binding`, { as: 'scheduler', body });
  assert.equal(again.status, 409);
  assert.match(again.textAt('message'), /pod p is already assigned to node "a"$/);
  await api.stop();
});

test('[LIFE-08] a pod has its own UID, is bound once, and never moves to another node', async () => {
  const { api, uid } = await boundPod();
  const other = await api.call('POST', PODS, { body: podBody('q') });
  assert.match(uid, /^[0-9a-f-]{36}$/);
  assert.notEqual(other.textAt('metadata.uid'), uid);
  const body = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'a' } };
  const again = await api.call('POST', `${PODS}/p/binding`, { as: 'scheduler', body });
  assert.deepEqual([again.status, again.textAt('reason')], [409, 'Conflict'], 'not even to the same node');
  assert.match(again.textAt('message'), /pod p is already assigned to node "a"$/);
  const moved = await api.call('PATCH', `${PODS}/p`, { body: { spec: { nodeName: 'b' } } });
  assert.equal(moved.status, 422);
  const now = await api.call('GET', `${PODS}/p`);
  assert.deepEqual([now.textAt('spec.nodeName'), now.textAt('metadata.uid')], ['a', uid]);
  await api.stop();
});

test('[SAFE-01] exactly one of two concurrent bindings wins', async () => {
  const api = await startTestApi();
  await api.call('POST', PODS, { body: podBody('p') });
  const bind = (name: string) =>
    api.call('POST', `${PODS}/p/binding`, { body: { metadata: { name: 'p' }, target: { kind: 'Node', name } } });
  const answers = await Promise.all(['a', 'b', 'c'].map(bind));
  assert.deepEqual(
    answers.map((each) => each.status).toSorted((a, b) => a - b),
    [201, 409, 409],
  );
  const winner = ['a', 'b', 'c'][answers.findIndex((each) => each.status === 201)];
  assert.equal((await api.call('GET', `${PODS}/p`)).at('spec.nodeName'), winner);
  await api.stop();
});

test('a binding that names another uid is refused', async () => {
  const api = await startTestApi();
  await api.call('POST', PODS, { body: podBody('p') });
  const body = { metadata: { name: 'p', uid: 'another' }, target: { kind: 'Node', name: 'a' } };
  assert.equal((await api.call('POST', `${PODS}/p/binding`, { body })).status, 409);
  await api.stop();
});

const removals = [
  ['a controller may not remove a bound pod', 'manager', 403],
  ['the scheduler may not remove a bound pod', 'scheduler', 403],
  ['the kubelet of another node may not remove it', 'node-b', 403],
  ['pod garbage collection may not remove it while its node is there', 'pod-gc', 403],
  ['the fencer may not remove it while its node is not fenced', 'fencer', 403],
  ['the kubelet of its node removes it', 'node-a', 200],
  ['a user removes it by force', 'admin', 200],
] as const;
for (const [title, as, status] of removals) {
  test(`[SAFE-09] [SAFE-11] [FENCE-13] grace 0: ${title}`, async () => {
    const scene = await boundPod();
    assert.equal(await forceDelete(scene, as), status);
    assert.equal((await scene.api.call('GET', `${PODS}/p`)).status, status === 200 ? 404 : 200);
    await scene.api.stop();
  });
}

test('a kubelet must send the uid of the pod that it removes', async () => {
  const scene = await boundPod();
  assert.equal(await forceDelete(scene, 'node-a', false), 403);
  await scene.api.stop();
});

test('pod garbage collection removes a bound pod once its Node is gone', async () => {
  const scene = await boundPod();
  await scene.api.call('DELETE', '/api/v1/nodes/a');
  assert.equal(await forceDelete(scene, 'pod-gc'), 200);
  await scene.api.stop();
});

for (const as of ['pod-gc', 'fencer']) {
  test(`[FENCE-07] ${as} removes a pod of a node that is confirmed out of service`, async () => {
    const scene = await boundPod();
    await taintOutOfService(scene.api);
    await scene.api.call('DELETE', `${PODS}/p`, { body: {} });
    assert.equal(await forceDelete(scene, as), 200);
    await scene.api.stop();
  });
}

test('[FENCE-07] the fencer needs only its fence: the pod was not being deleted, and the last status of the node was ready', async () => {
  const scene = await boundPod();
  const conditions = [{ type: 'Ready', status: 'True' }];
  await scene.api.call('PATCH', '/api/v1/nodes/a/status', { body: { status: { conditions } } });
  await taintOutOfService(scene.api);
  assert.equal(await forceDelete(scene, 'pod-gc'), 403);
  assert.equal(await forceDelete(scene, 'fencer'), 200);
  await scene.api.stop();
});

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

const promises = (isBroken: boolean) => ({
  metadata: {
    name: 'a',
    annotations: {
      'holdfast.io/self-fencing': 'exclusive',
      ...(isBroken ? { 'holdfast.io/self-fencing-broken': '2026-01-01T00:00:00Z' } : {}),
    },
  },
  spec: { holderIdentity: 'a', leaseDurationSeconds: 8 },
});

const watchdogCases = [
  ['its promise is broken, the pod is exclusive and its deletion is stored', { isBroken: true }, 200],
  ['the promise holds', { isBroken: false }, 403],
  ['the promise says nothing of such a pod', { isBroken: true, hostname: 'other' }, 403],
  ['the pod is not being deleted', { isBroken: true, isAsked: false }, 403],
] as const;
for (const [title, { isBroken, ...change }, status] of watchdogCases) {
  test(`[FENCE-07] [FENCE-13] pod garbage collection and a node with a watchdog: ${title}`, async () => {
    const { hostname, isAsked } = { hostname: 'p', isAsked: true, ...change };
    const scene = await boundPod({ hostname });
    const { api } = scene;
    assert.equal((await api.call('POST', LEASES, { body: promises(isBroken) })).status, 201);
    if (isAsked) await api.call('DELETE', `${PODS}/p`, { as: 'manager', body: {} });
    assert.equal(await forceDelete(scene, 'manager'), 403, 'a controller never');
    assert.equal(await forceDelete(scene, 'pod-gc'), status);
    await api.stop();
  });
}

async function allow(api: TestApi, ...rules: readonly object[]): Promise<void> {
  const group = '/apis/rbac.authorization.k8s.io/v1';
  await api.call('POST', `${group}/clusterroles`, { body: { metadata: { name: 'elections' }, rules } });
  await api.call('POST', `${group}/clusterrolebindings`, {
    body: {
      metadata: { name: 'elections' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'elections' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody' }],
    },
  });
}

const LEASE_RULE = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] };
const PROMISE_RULE = { apiGroups: [''], resources: ['nodes/self-fencing'], verbs: ['update'] };

test('the right to write leases does not include breaking, shortening or creating the promise of a node', async () => {
  const { api } = await boundPod();
  await allow(api, LEASE_RULE);
  assert.equal((await api.call('POST', LEASES, { as: 'node-a', body: promises(false) })).status, 201);
  const change = (as: string, body: object) => api.call('PATCH', `${LEASES}/a`, { as, body });
  const broken = promises(true);
  assert.equal((await change('nobody', broken)).status, 403);
  assert.equal((await change('nobody', { spec: { leaseDurationSeconds: 1 } })).status, 403);
  assert.equal(
    (await change('nobody', { metadata: { annotations: { 'holdfast.io/self-fencing': 'all' } } })).status,
    403,
  );
  assert.equal((await change('nobody', { metadata: { labels: { seen: 'yes' } } })).status, 200);
  const other = { ...promises(true), metadata: { ...promises(true).metadata, name: 'b' } };
  assert.equal((await api.call('POST', LEASES, { as: 'nobody', body: other })).status, 403);
  assert.equal((await change('manager', { spec: { leaseDurationSeconds: 1 } })).status, 403, 'only the mark');
  assert.equal((await change('manager', broken)).status, 200);
  await api.stop();
});

test('a user with the separate permission may break the promise of a node', async () => {
  const { api } = await boundPod();
  await allow(api, LEASE_RULE, PROMISE_RULE);
  assert.equal((await api.call('POST', LEASES, { as: 'node-a', body: promises(false) })).status, 201);
  assert.equal((await api.call('PATCH', `${LEASES}/a`, { as: 'nobody', body: promises(true) })).status, 200);
  await api.stop();
});

test('a node cannot declare that its own promise expired', async () => {
  const { api } = await boundPod();
  const body = { status: { conditions: [{ type: 'SelfFenced', status: 'True' }] } };
  const of = (as: string) => api.call('PATCH', '/api/v1/nodes/a/status', { as, body });
  assert.equal((await of('node-a')).status, 403);
  assert.equal((await of('admin')).status, 200);
  assert.equal((await of('node-a')).status, 200, 'what is there already');
  await api.stop();
});

test('controllers may remove a pod without a node', async () => {
  const api = await startTestApi();
  await api.call('POST', PODS, { body: podBody('p') });
  const answer = await api.call('DELETE', `${PODS}/p`, { as: 'manager', body: { gracePeriodSeconds: 0 } });
  assert.equal(answer.status, 200);
  await api.stop();
});

test('[UI-02] a user who forces a deletion gets a warning, a kubelet does not', async () => {
  const byUser = await boundPod();
  const answer = await byUser.api.call('DELETE', `${PODS}/p?gracePeriodSeconds=0`);
  assert.equal(answer.headers['warning'], `299 - "${forceDeleteWarning('p', 'a')}"`);
  assert.equal(answer.status, 200);
  assert.match(
    forceDeleteWarning('p', 'a'),
    /pod p .* before node a has confirmed .* may go on running there; two instances may run at once, and data may be lost/,
  );
  assert.equal((await byUser.api.call('GET', `${PODS}/p`)).status, 404, 'the warning does not stop it');
  await byUser.api.stop();
  const byKubelet = await boundPod();
  const body = { gracePeriodSeconds: 0, preconditions: { uid: byKubelet.uid } };
  const quiet = await byKubelet.api.call('DELETE', `${PODS}/p`, { as: 'node-a', body });
  assert.deepEqual([quiet.status, quiet.headers['warning']], [200, undefined]);
  await byKubelet.api.stop();
});

test('a controller may not mark a bound pod finished, its kubelet may', async () => {
  const { api } = await boundPod();
  const finish = (as: string) => api.call('PATCH', `${PODS}/p/status`, { as, body: { status: { phase: 'Failed' } } });
  assert.equal((await finish('manager')).status, 403);
  assert.equal((await finish('node-b')).status, 403);
  assert.equal((await finish('node-a')).status, 200);
  await api.stop();
});

test('[TERM-36] a controller that deletes a pod with a grace period of 0 in its spec still waits for the kubelet', async () => {
  const { api } = await boundPod({ terminationGracePeriodSeconds: 0 });
  assert.equal((await api.call('DELETE', `${PODS}/p`, { as: 'manager' })).status, 200);
  const pod = await api.call('GET', `${PODS}/p`);
  assert.equal(pod.at('metadata.deletionGracePeriodSeconds'), 1);
  await api.stop();
});

test('with the rule switched off a controller removes a bound pod', async () => {
  const scene = await boundPod({}, 'off');
  assert.equal(await forceDelete(scene, 'manager'), 200);
  await scene.api.stop();
});

test('[FENCE-13] [SAFE-15] a controller cannot produce the proof itself', async () => {
  const scene = await boundPod();
  const { api } = scene;
  const taint = { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } };
  for (const as of ['manager', 'pod-gc', 'node-a']) {
    assert.equal((await api.call('PATCH', '/api/v1/nodes/a', { as, body: taint })).status, 403, `${as} taints`);
    assert.equal((await api.call('DELETE', '/api/v1/nodes/a', { as })).status, 403, `${as} deletes the node`);
  }
  await api.call('PATCH', '/api/v1/nodes/a/status', {
    body: { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
  });
  await taintOutOfService(api);
  await api.call('DELETE', `${PODS}/p`, { body: {} });
  assert.equal(await forceDelete(scene, 'pod-gc'), 403, 'the node speaks: its kubelet can confirm');
  await api.stop();
});

test('[FENCE-13] a controller cannot impersonate a user with the permission', async () => {
  const scene = await boundPod();
  const { api, uid } = scene;
  for (const headers of [
    { 'impersonate-user': 'joe', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': 'system:node:a', 'impersonate-group': 'system:nodes' },
    { 'impersonate-user': 'system:serviceaccount:kube-system:pod-garbage-collector' },
  ]) {
    const body = { gracePeriodSeconds: 0, preconditions: { uid } };
    const answer = await api.call('DELETE', `${PODS}/p`, { as: 'manager', headers, body });
    assert.equal(answer.status, 403, JSON.stringify(headers));
  }
  const token = '/api/v1/namespaces/kube-system/serviceaccounts/pod-garbage-collector/token';
  assert.equal((await api.call('POST', token, { as: 'manager', body: {} })).status, 403);
  const binding = {
    metadata: { name: 'mine' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  };
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  assert.equal((await api.call('POST', bindings, { as: 'manager', body: binding })).status, 403);
  await api.stop();
});

test('[UI-02] a pod with grace period 0 causes the warning of a forced deletion', async () => {
  const { api } = await boundPod({ terminationGracePeriodSeconds: 0 });
  const answer = await api.call('DELETE', `${PODS}/p`, { body: {} });
  assert.deepEqual([answer.status, answer.headers['warning']], [200, `299 - "${forceDeleteWarning('p', 'a')}"`]);
  await api.stop();
});
