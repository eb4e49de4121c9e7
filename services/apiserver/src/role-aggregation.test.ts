import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { type Answer, startTestApi, type TestApi } from './testing/fixture.ts';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ store: createMemoryStore() });
});
afterEach(() => api.stop());

const rule = (resource: string): object => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
const create = async (name: string, body: object): Promise<void> => {
  const metadata = { name, labels: { part: name } };
  assert.equal((await api.call('POST', ROLES, { body: { metadata, ...body } })).status, 201);
};
/** What a controller tries to make of a role. */
const update = async (name: string, change: (role: Record<string, unknown>) => object): Promise<Answer> => {
  const { body } = await api.call('GET', `${ROLES}/${name}`);
  return api.call('PUT', `${ROLES}/${name}`, { as: 'manager', body: change(Object(body)) });
};

test('a controller gives a role what it selects, and neither that role nor another anything else', async () => {
  await create('pods', { rules: [rule('pods')] });
  await create('secrets', { rules: [rule('secrets')] });
  await create('whole', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'pods' } }] }, rules: [] });
  await api.call('GET', ROLES);
  const put = (name: string, ...rules: readonly object[]): Promise<Answer> =>
    update(name, (role) => ({ ...role, rules }));
  assert.equal((await put('whole', rule('pods'))).status, 200);
  assert.equal((await put('whole', rule('pods'), rule('secrets'))).status, 403);
  assert.equal((await put('whole', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] })).status, 403);
  assert.equal((await put('pods', rule('secrets'))).status, 403);
  const joins = await update('secrets', (role) => ({
    ...role,
    metadata: { ...Object(role['metadata']), labels: { part: 'pods' } },
  }));
  assert.equal(joins.status, 403);
  const selectsAll = { clusterRoleSelectors: [{ matchLabels: { part: 'secrets' } }] };
  assert.equal((await update('whole', (role) => ({ ...role, aggregationRule: selectsAll }))).status, 403);
  const made = { metadata: { name: 'new' }, rules: [] };
  assert.equal((await api.call('POST', ROLES, { as: 'manager', body: made })).status, 403);
});
