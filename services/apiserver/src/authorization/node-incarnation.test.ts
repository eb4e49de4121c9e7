import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { INCARNATION_HEADER, NODE_INCARNATION, OTHER_INCARNATION } from '@holdfast/api';
import type { HttpMethod } from '@holdfast/client';
import { createSystemClock, formatMicroTime } from '@holdfast/platform';
import { type Answer, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const NODE = '/api/v1/nodes/a';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const PODS = '/api/v1/namespaces/default/pods';
const ORIGINAL = 'k-1/m-1/b-1';
const CLONE = 'k-1/m-2/b-2';
const TWIN = 'k-2/m-2/b-2';
const REBOOTED = 'k-1/m-1/b-2';

type Send = (method: HttpMethod, url: string, body?: unknown) => Promise<Answer>;

/** A kubelet of node a, on this machine; none: one that does not say. */
const kubeletOn =
  (api: TestApi, incarnation?: string): Send =>
  (method, url, body) =>
    api.call(method, url, {
      as: 'node-a',
      ...(incarnation === undefined ? {} : { headers: { [INCARNATION_HEADER]: incarnation } }),
      ...(body === undefined ? {} : { body }),
    });

const nodeBody = (incarnation?: string) => ({
  metadata: { name: 'a', ...(incarnation === undefined ? {} : { annotations: { [NODE_INCARNATION]: incarnation } }) },
});

const leaseBody = (renewTime: string) => ({ metadata: { name: 'a' }, spec: { holderIdentity: 'a', renewTime } });

const claimBody = (incarnation: string) => ({ metadata: { annotations: { [NODE_INCARNATION]: incarnation } } });

/** Node a is bound to the original; pod p runs on it. The lease was renewed so many seconds ago. */
async function start(t: TestContext, leaseAgoSeconds = 0): Promise<{ api: TestApi; original: Send }> {
  const api = await startTestApi();
  t.after(() => api.stop());
  const original = kubeletOn(api, ORIGINAL);
  assert.equal((await original('POST', '/api/v1/nodes', nodeBody(ORIGINAL))).status, 201);
  const renewTime = formatMicroTime(createSystemClock().now() - leaseAgoSeconds * 1000);
  assert.equal((await original('POST', LEASES, leaseBody(renewTime))).status, 201);
  const pod = { metadata: { name: 'p' }, spec: { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] } };
  assert.equal((await api.call('POST', PODS, { body: pod })).status, 201);
  return { api, original };
}

/** Everything by which a kubelet acts under the name of its node. */
async function actsOf(send: Send): Promise<readonly Answer[]> {
  const status = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  return [
    await send('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da'),
    await send('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da&watch=1&timeoutSeconds=1'),
    await send('GET', `${PODS}/p`),
    await send('PATCH', `${NODE}/status`, status),
    await send('PATCH', NODE, { metadata: { labels: { mine: 'yes' } } }),
    await send('PATCH', `${LEASES}/a`, { spec: { leaseDurationSeconds: 40 } }),
    await send('PATCH', `${PODS}/p/status`, { status: { phase: 'Failed' } }),
    await send('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', { spec: {} }),
    await send('DELETE', `${PODS}/p`, { gracePeriodSeconds: 0 }),
  ];
}

for (const [what, incarnation] of [
  ['a twin', TWIN],
  ['a clone with the same key', CLONE],
  ['a kubelet without an incarnation', undefined],
  ['the next boot of a machine that has just spoken', REBOOTED],
] as const) {
  test(`[SAFE-31] ${what} reads no pod of the node, writes nothing of it and cannot claim it`, async (t) => {
    const { api, original } = await start(t);
    const other = kubeletOn(api, incarnation);
    const acts = [...(await actsOf(other)), await other('PATCH', NODE, claimBody(incarnation ?? TWIN))];
    for (const answer of acts) {
      assert.deepEqual(
        [answer.status, answer.at('reason'), answer.at('details.causes.0.reason')],
        [403, 'Forbidden', OTHER_INCARNATION],
      );
      assert.match(answer.textAt('message'), /bound to another incarnation.*surely off, delete or fence the Node/);
    }
    assert.equal((await other('GET', NODE)).status, 200, 'it may look at the Node');
    assert.equal((await api.call('GET', `${PODS}/p`)).at('status.phase'), 'Pending');
    assert.equal((await original('PATCH', `${NODE}/status`, { status: {} })).status, 200, 'the first stays');
  });
}

test('[SAFE-31] the same machine and boot continues, and an unbound Node behaves as before', async (t) => {
  const { api } = await start(t);
  const statuses = (await actsOf(kubeletOn(api, ORIGINAL))).slice(0, 7).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([200]));
  await api.call('PATCH', NODE, { body: { metadata: { annotations: { [NODE_INCARNATION]: null } } } });
  assert.equal((await kubeletOn(api)('PATCH', `${NODE}/status`, { status: {} })).status, 200);
});

test('a kubelet in the process of the only API server keeps a Node that was bound before, others do not', async (t) => {
  for (const [name, expected] of [
    ['a', 200],
    ['b', 403],
  ] as const) {
    const api = await startTestApi({ ownNodes: new Set([name]) });
    t.after(() => api.stop());
    assert.equal((await kubeletOn(api, ORIGINAL)('POST', '/api/v1/nodes', nodeBody(ORIGINAL))).status, 201);
    assert.equal((await kubeletOn(api)('PATCH', `${NODE}/status`, { status: {} })).status, expected, name);
  }
});

const claimAndAct = async (send: Send, incarnation: string): Promise<readonly number[]> => [
  (await send('PATCH', `${NODE}/status`, { status: {} })).status,
  (await send('PATCH', NODE, claimBody(incarnation))).status,
  (await send('PATCH', `${NODE}/status`, { status: {} })).status,
];

test('[SAFE-31] the next boot of the same machine claims the node once the previous boot is silent, and the previous boot is refused', async (t) => {
  const { api, original } = await start(t, 60);
  assert.deepEqual(await claimAndAct(kubeletOn(api, REBOOTED), REBOOTED), [403, 200, 200]);
  assert.equal((await original('PATCH', `${PODS}/p/status`, { status: { phase: 'Failed' } })).status, 403);
});

test('[SAFE-31] another machine claims the node after a user declares the first machine off, or after the Node was deleted', async (t) => {
  const { api, original } = await start(t);
  const twin = kubeletOn(api, TWIN);
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'gone', effect: 'NoExecute' };
  await api.call('PATCH', NODE, { body: { spec: { taints: [taint] } } });
  assert.deepEqual(await claimAndAct(twin, TWIN), [403, 200, 200]);
  assert.equal((await original('PATCH', `${NODE}/status`, { status: {} })).status, 403);
  assert.equal((await api.call('DELETE', NODE)).status, 200);
  const third = kubeletOn(api, 'k-3/m-3/b-3');
  assert.equal((await third('POST', '/api/v1/nodes', nodeBody('k-3/m-3/b-3'))).status, 201);
  assert.equal((await twin('PATCH', `${NODE}/status`, { status: {} })).status, 403);
});

test('[SAFE-31] exactly one of two machines that claim a node at once succeeds', async (t) => {
  const { api } = await start(t);
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'gone', effect: 'NoExecute' };
  const tainted = await api.call('PATCH', NODE, { body: { spec: { taints: [taint] } } });
  const resourceVersion = valueAt(tainted.body, 'metadata.resourceVersion');
  const claims = [TWIN, CLONE].map((incarnation) => {
    const body = { metadata: { resourceVersion, annotations: { [NODE_INCARNATION]: incarnation } } };
    return kubeletOn(api, incarnation)('PATCH', NODE, body);
  });
  assert.deepEqual(
    (await Promise.all(claims)).map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
  );
});

test('[SAFE-31] what another machine may do of built-in kinds, it may not of custom kinds with the same plural', async (t) => {
  const { api } = await start(t);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: ['mesh.example'], resources: ['*'], verbs: ['*'] }];
  await api.call('POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'mesh' }, rules } });
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'system:node:a' }];
  const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: 'mesh' };
  const binding = { metadata: { name: 'mesh' }, roleRef, subjects };
  assert.equal((await api.call('POST', `${rbac}/clusterrolebindings`, { body: binding })).status, 201);
  const mesh = '/apis/mesh.example/v1';
  assert.equal((await kubeletOn(api, ORIGINAL)('GET', `${mesh}/services`)).status, 404, 'the role is in force');
  for (const path of ['services', 'nodes/a', 'csidrivers']) {
    const answer = await kubeletOn(api, TWIN)('GET', `${mesh}/${path}`);
    assert.deepEqual([answer.status, answer.at('details.causes.0.reason')], [403, OTHER_INCARNATION], path);
  }
  assert.equal((await kubeletOn(api, TWIN)('GET', '/api/v1/services')).status, 200);
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'gone', effect: 'NoExecute' };
  await api.call('PATCH', NODE, { body: { spec: { taints: [taint] } } });
  const noClaim = await kubeletOn(api, TWIN)('PATCH', `${mesh}/nodes/a`, claimBody(TWIN));
  assert.equal(noClaim.at('details.causes.0.reason'), OTHER_INCARNATION);
});
