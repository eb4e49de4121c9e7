import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

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
/** Tries to update a role as a controller. */
const update = async (name: string, change: (role: Record<string, unknown>) => object): Promise<Answer> => {
  const { body } = await api.call('GET', `${ROLES}/${name}`);
  return api.call('PUT', `${ROLES}/${name}`, { as: 'manager', body: change(Object(body)) });
};

test('a controller gives a role its selected rules, and no other role anything', async () => {
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

describe('a controller finishes the deletion of', () => {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'secrets' };
  const subject = { kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' };
  const inNamespace = (plural: string): string => ROLES.replace('clusterroles', `namespaces/default/${plural}`);
  for (const [what, path, content, more] of [
    ['a cluster role', ROLES, { rules: [rule('pods')] }, { rules: [rule('secrets')] }],
    ['a role', inNamespace('roles'), { rules: [rule('pods')] }, { rules: [rule('secrets')] }],
    ['a cluster binding', BINDINGS, { roleRef, subjects: [] }, { subjects: [subject] }],
    ['a binding', inNamespace('rolebindings'), { roleRef, subjects: [] }, { subjects: [subject] }],
  ] as const) {
    test(`${what}, and changes no other field of it`, async () => {
      await create('secrets', { rules: [rule('secrets')] });
      const finalizers = ['foregroundDeletion'];
      await api.call('POST', path, { body: { metadata: { name: 'x', finalizers }, ...content } });
      assert.equal((await api.call('DELETE', `${path}/x`)).status, 200);
      const stored = Object((await api.call('GET', `${path}/x`)).body);
      const finished = { ...stored, metadata: { ...stored.metadata, finalizers: [] } };
      const as = 'manager';
      assert.equal((await api.call('PUT', `${path}/x`, { as, body: { ...finished, ...more } })).status, 403);
      const answer = await api.call('PUT', `${path}/x`, { as, body: finished });
      assert.equal(answer.status, 200, answer.textAt('message'));
      assert.equal((await api.call('GET', `${path}/x`)).status, 404);
    });
  }
});

describe('a user who may write roles and holds few rights', () => {
  const WRITES = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create', 'patch'] };
  const ALL = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
  const selectsAll = { clusterRoleSelectors: [{ matchLabels: { part: 'pods' } }] };
  const roleRef = (name: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });
  const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
  const bind = async (name: string): Promise<void> => {
    const body = { metadata: { name }, roleRef: roleRef(name), subjects };
    assert.equal((await api.call('POST', BINDINGS, { body })).status, 201);
  };
  beforeEach(async () => {
    await create('writer', { rules: [WRITES] });
    await bind('writer');
    await api.call('GET', ROLES);
  });

  test('cannot create a role that aggregates the rights of others', async () => {
    const why =
      'clusterroles.rbac.authorization.k8s.io "all" is forbidden: must have cluster-admin privileges to use the aggregationRule';
    const body = { metadata: { name: 'all' }, aggregationRule: selectsAll };
    const made = await api.call('POST', ROLES, { as: 'nobody', body });
    assert.equal(made.textAt('message'), why);
    await create('all', { aggregationRule: selectsAll });
    for (const patch of [{ aggregationRule: null }, { metadata: { labels: { part: 'pods' } } }]) {
      const changed = await api.call('PATCH', `${ROLES}/all`, { as: 'nobody', body: patch });
      assert.equal(changed.textAt('message'), why);
    }
    const collected = { metadata: { finalizers: ['example.com/kept'] } };
    assert.equal((await api.call('PATCH', `${ROLES}/all`, { as: 'nobody', body: collected })).status, 200);
  });

  test('cannot make a role part of another one by a label', async () => {
    await create('secrets', { rules: [rule('secrets')] });
    const patch = { metadata: { labels: { part: 'pods' } } };
    const answer = await api.call('PATCH', `${ROLES}/secrets`, { as: 'nobody', body: patch });
    assert.equal(answer.status, 403);
    assert.match(
      answer.textAt('message'),
      /attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}$/,
    );
  });

  test('gets an error that names the missing roles of its bindings', async () => {
    await bind('lost');
    const body = { metadata: { name: 'more' }, rules: [rule('pods')] };
    const answer = await api.call('POST', ROLES, { as: 'nobody', body });
    const why = '; resolution errors: [clusterrole.rbac.authorization.k8s.io "lost" not found]';
    assert.ok(answer.textAt('message').endsWith(why), answer.textAt('message'));
  });

  test('can create any role with all rights', async () => {
    await create('super', { rules: [ALL, { nonResourceURLs: ['*'], verbs: ['*'] }] });
    await bind('super');
    const body = { metadata: { name: 'all' }, aggregationRule: selectsAll };
    assert.equal((await api.call('POST', ROLES, { as: 'nobody', body })).status, 201);
  });
});
