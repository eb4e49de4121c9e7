import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { startTestApi } from '../testing/fixture.ts';

const GROUP = 'rbac.authorization.k8s.io';
const RBAC = `/apis/${GROUP}/v1/namespaces/default`;
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/made';
const MAP = '/api/v1/namespaces/default/configmaps/made?fieldManager=m';

test('without the permission to create, an update or an apply creates no object either', async (t) => {
  const api = await startTestApi({ store: createMemoryStore() });
  t.after(() => api.stop());
  const rules = (...verbs: readonly string[]) => [
    { apiGroups: ['', 'coordination.k8s.io'], resources: ['configmaps', 'leases'], verbs },
  ];
  const role = { metadata: { name: 'r' }, rules: rules('update', 'patch') };
  assert.equal((await api.call('POST', `${RBAC}/roles`, { body: role })).status, 201);
  const subjects = [{ apiGroup: GROUP, kind: 'User', name: 'nobody' }];
  const roleRef = { apiGroup: GROUP, kind: 'Role', name: 'r' };
  await api.call('POST', `${RBAC}/rolebindings`, { body: { metadata: { name: 'b' }, roleRef, subjects } });
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'made' }, spec: {} };
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const map = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' } });
  const put = () => api.call('PUT', LEASE, { as: 'nobody', body: lease });
  const apply = () => api.call('PATCH', MAP, { as: 'nobody', headers, body: map });
  for (const [write, resource] of [
    [put, 'leases'],
    [apply, 'configmaps'],
  ] as const) {
    const refused = await write();
    assert.equal(refused.status, 403);
    assert.match(refused.textAt('message'), new RegExp(`"nobody" cannot create resource "${resource}"`));
  }
  await api.call('PUT', `${RBAC}/roles/r`, { body: { ...role, rules: rules('update', 'patch', 'create') } });
  assert.deepEqual([(await put()).status, (await apply()).status], [201, 201]);
});
