import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { MISSING_RIGHTS_BYTES_TOLD, RULES_REVIEWED_MAX } from '../limits.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
const GROUP = 'rbac.authorization.k8s.io';
const many = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ store: createMemoryStore() });
});
afterEach(() => api.stop());

async function bind(name: string, kind: 'Role' | 'ClusterRole', role: string): Promise<void> {
  const subjects = [{ apiGroup: GROUP, kind: 'User', name: 'nobody' }];
  const body = { metadata: { name }, roleRef: { apiGroup: GROUP, kind, name: role }, subjects };
  const { status, body: answer } = await api.call('POST', `${RBAC}/rolebindings`, { body });
  assert.equal(status, 201, JSON.stringify(answer));
}

const create = (name: string, rules: unknown, as = 'nobody') =>
  api.call('POST', `${RBAC}/roles`, { as, body: { metadata: { name }, rules } });

test('a Role of 1,000 verbs, groups and resources by a namespace administrator is refused in a short answer', async () => {
  await bind('admin', 'ClusterRole', 'admin');
  const wide = { verbs: many('v', 1_000), apiGroups: many('g', 1_000), resources: many('r', 1_000) };
  const refused = await create('wide', [wide]);
  assert.equal(refused.status, 403);
  assert.match(refused.textAt('message'), /is attempting to grant RBAC permissions not currently held:\n/);
  assert.ok(refused.textAt('message').length < MISSING_RIGHTS_BYTES_TOLD + 1_000);
  const own = await create('own', [{ verbs: ['get', 'list'], apiGroups: [''], resources: many('r', 1_000) }], 'admin');
  assert.equal(own.status, 201);
  await bind('own', 'Role', 'own');
  const again = await create('again', [{ verbs: ['get'], apiGroups: [''], resources: many('r', 1_000) }]);
  assert.equal(again.status, 201, again.textAt('message'));
});

test('rules that exceed the bound of the comparison are refused with the next step', async () => {
  await bind('admin', 'ClusterRole', 'admin');
  const rule = (resources: readonly string[], resourceNames: readonly string[]): object => ({
    verbs: ['get'],
    apiGroups: ['example.com'],
    resources,
    resourceNames,
  });
  const [resources, names] = [many('r', 1_000), many('n', 1_000)];
  const halves = [rule(resources, names.slice(500)), rule(resources, names.slice(0, 500))];
  const singles = [...resources.map((each) => rule([each], ['y'])), ...names.map((each) => rule(['z'], [each]))];
  assert.equal((await create('own', [...halves, ...singles], 'admin')).status, 201);
  await bind('own', 'Role', 'own');
  const refused = await create('next', [rule(resources, names)]);
  assert.equal(refused.status, 403);
  assert.match(refused.textAt('message'), /too complex .* split them into several roles/);
  assert.equal((await create('part', [rule(resources, names.slice(0, 100))])).status, 201);
});

test('a role granted by thousands of bindings is read and reviewed once', async () => {
  const rules = many('r', 2_000).map((name) => ({ verbs: ['get'], apiGroups: [''], resources: [name] }));
  await create('many', rules, 'admin');
  for (const name of many('b', 40)) await bind(name, 'Role', 'many');
  const review = async (): Promise<readonly [number, unknown]> => {
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'default' },
    };
    const url = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
    const answer = await api.call('POST', url, { as: 'nobody', body });
    const listed = answer.at('status.resourceRules') as readonly object[];
    return [listed.length, answer.at('status.incomplete')];
  };
  const [once, whole] = await review();
  assert.ok(once >= 2_000 && once < 2_100, String(once));
  assert.equal(whole, false);
  for (const name of many('other', 5)) {
    await create(name, rules, 'admin');
    await bind(name, 'Role', name);
  }
  assert.deepEqual(await review(), [RULES_REVIEWED_MAX, true]);
});
