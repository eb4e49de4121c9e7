import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Subject } from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import { createMemoryStore } from '@holdfast/store/memory';
import { addressRange, DEFAULT_SERVICE_NETWORK } from '../allocation/ranges.ts';
import { textAnswer } from '../http/answers.ts';
import { startTestApi } from '../testing/fixture.ts';
import { reconciledBinding, reconciledRole } from './role-reconciliation.ts';
import { AUTOUPDATE, binding, partOf, READ, role, rule, selectorOf, toGroups } from './role-shapes.ts';
import { BOOTSTRAP_ROLE_BINDINGS, BOOTSTRAP_ROLES } from './roles.ts';
import { ensureSystemObjects } from './system-objects.ts';

const CLUSTER_ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const API = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' } as const;

const rolesBy = new Map(BOOTSTRAP_ROLES.map((each) => [each.metadata.name, each]));

describe('roles that exist in every cluster', () => {
  for (const [user, rights, verb, resource, allowed] of [
    ['view', 'reads pods', 'list', 'pods', true],
    ['view', 'reads no secrets', 'get', 'secrets', false],
    ['view', 'reads no roles', 'get', 'roles', false],
    ['view', 'runs no commands', 'create', 'pods/exec', false],
    ['edit', 'reads secrets', 'get', 'secrets', true],
    ['edit', 'evicts', 'create', 'pods/eviction', true],
    ['edit', 'writes no endpoints', 'update', 'endpoints', false],
    ['edit', 'gives no rights', 'create', 'rolebindings', false],
    ['admin', 'gives rights', 'create', 'rolebindings', true],
    ['admin', 'changes no quotas', 'update', 'resourcequotas', false],
    ['admin', 'reads what view reads', 'watch', 'endpointslices', true],
  ] as const) {
    test(`${user} ${rights}`, () => {
      const { rules = [] } = rolesBy.get(user) ?? {};
      const grants = (each: PolicyRule): boolean =>
        each.verbs.includes(verb) && each.resources?.includes(resource) === true;
      assert.equal(rules.some(grants), allowed);
    });
  }

  test('each binding refers to an existing role', () => {
    for (const { roleRef } of BOOTSTRAP_ROLE_BINDINGS) assert.ok(rolesBy.has(roleRef.name), roleRef.name);
  });
});

describe('reconciliation of an existing role at the start of the server', () => {
  const wanted = role('r', rule(READ, '', 'pods'), rule('get', '', 'nodes'));
  const stored = (over: Partial<ClusterRole> = {}): ClusterRole => ({
    ...API,
    ...structuredClone({ ...wanted, rules: [...wanted.rules] }),
    ...over,
  });
  const missing = rule('get', '', 'nodes');
  const own = rule('get', '', 'secrets');
  const rest = { labels: wanted.metadata.labels };

  for (const [title, before, rules] of [
    ['one that lacks nothing stays', stored(), undefined],
    ['a rule comes back', stored({ rules: [rule(READ, '', 'pods')] }), [rule(READ, '', 'pods'), missing]],
    ['only what is missing of a rule comes back', stored({ rules: [rule(READ, '', 'pods nodes')] }), undefined],
    [
      'rights of its own stay',
      stored({ rules: [own, rule(READ, '', 'pods')] }),
      [own, rule(READ, '', 'pods'), missing],
    ],
    [
      'one that is to stay as it is stays',
      stored({ rules: [], metadata: { ...wanted.metadata, annotations: { [AUTOUPDATE]: 'false' } } }),
      undefined,
    ],
  ] as const) {
    test(title, () => assert.deepEqual(reconciledRole(before, wanted)?.rules, rules));
  }

  test('labels and annotations are completed, and existing values are kept', () => {
    const metadata = { name: 'r', labels: { 'kubernetes.io/bootstrapping': 'mine', a: 'b' } };
    assert.deepEqual(reconciledRole(stored({ metadata }), wanted)?.metadata, {
      name: 'r',
      labels: { 'kubernetes.io/bootstrapping': 'mine', a: 'b' },
      annotations: { [AUTOUPDATE]: 'true' },
    });
  });

  test('a role of earlier servers becomes an aggregated role', () => {
    const view = { ...partOf(['edit'], wanted), aggregationRule: { clusterRoleSelectors: [selectorOf('view')] } };
    const mended = reconciledRole(stored({ metadata: { name: 'r', ...rest }, rules: [own] }), view);
    assert.deepEqual(mended?.aggregationRule, view.aggregationRule);
    assert.deepEqual(mended.rules, [own]);
    assert.equal(mended.metadata.labels?.['rbac.authorization.k8s.io/aggregate-to-edit'], 'true');
    assert.equal(reconciledRole({ ...mended, rules: [] }, view), undefined);
  });

  test('a role that must aggregate nothing loses its selectors', () => {
    const selecting = { ...stored(), aggregationRule: { clusterRoleSelectors: [selectorOf('edit')] } };
    assert.deepEqual(reconciledRole(selecting, wanted), stored());
  });

  const granted = binding('r', toGroups('a', 'b'));
  const bound = (over: Partial<ClusterRoleBinding> = {}): ClusterRoleBinding => ({
    ...API,
    kind: 'ClusterRoleBinding',
    ...structuredClone({ ...granted, subjects: [...granted.subjects] }),
    ...over,
  });
  const subjectsOf = (before: ClusterRoleBinding): readonly Subject[] | string | undefined => {
    const after = reconciledBinding(before, granted);
    return typeof after === 'object' ? after.subjects : after;
  };

  test('a binding gets its missing subjects, and keeps additional ones', () => {
    assert.equal(subjectsOf(bound()), undefined);
    assert.deepEqual(subjectsOf(bound({ subjects: [...toGroups('c', 'a')] })), toGroups('c', 'a', 'b'));
    const metadata = { name: 'r', annotations: { [AUTOUPDATE]: 'false' } };
    assert.equal(subjectsOf(bound({ subjects: [], metadata })), undefined);
    assert.equal(subjectsOf(bound({ roleRef: { ...granted.roleRef, name: 'other' } })), 'another role');
  });
});

test('a restarted server completes roles and bindings, and recreates bindings with another role', async () => {
  const store = createMemoryStore();
  const first = await startTestApi({ store });
  const path = (name: string): string => CLUSTER_ROLES.replace('clusterroles', `clusterrolebindings/${name}`);
  const change = async (url: string, body: object): Promise<void> =>
    assert.equal((await first.call('PATCH', url, { body })).status, 200);
  await change(`${CLUSTER_ROLES}/system:kube-dns`, { rules: [] });
  await change(`${CLUSTER_ROLES}/system:node`, { rules: [], metadata: { annotations: { [AUTOUPDATE]: 'false' } } });
  await change(path('system:discovery'), { subjects: null });
  await first.call('DELETE', path('system:monitoring'));
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  const body = { metadata: { name: 'system:monitoring' }, roleRef, subjects: [...toGroups('strangers')] };
  await first.call('POST', path(''), { body });
  await first.server.stop();

  const second = await startTestApi({ store });
  const at = async (url: string, field: string): Promise<unknown> => (await second.call('GET', url)).at(field);
  assert.deepEqual(await at(`${CLUSTER_ROLES}/system:kube-dns`, 'rules.0.verbs'), ['list']);
  assert.equal(await at(`${CLUSTER_ROLES}/system:node`, 'rules.0'), undefined);
  assert.equal(await at(path('system:discovery'), 'subjects.0.name'), 'system:authenticated');
  assert.equal(await at(path('system:monitoring'), 'roleRef.name'), 'system:monitoring');
  assert.equal(await at(path('system:monitoring'), 'subjects.0.name'), 'system:monitoring');
  await second.stop();
});

test('a role of earlier servers keeps its additional rules as a rule of its part, and no more', async () => {
  const store = createMemoryStore();
  const first = await startTestApi({ store });
  const at = (name: string): string => `${CLUSTER_ROLES}/${name}`;
  const own = rule('get', 'example.com', 'things');
  for (const [name, rules] of [
    ['edit', [own, rule(READ, '', 'pods')]],
    ['view', [rule(READ, '', 'pods')]],
  ] as const) {
    await first.call('DELETE', at(`system:aggregate-to-${name}`));
    assert.equal((await first.call('PATCH', at(name), { body: { aggregationRule: null, rules } })).status, 200);
  }
  await first.server.stop();
  // Twice: the second start finds what the first has made of it.
  for (let start = 1; start <= 2; start += 1) {
    const next = await startTestApi({ store });
    const rulesOf = async (name: string): Promise<unknown> => (await next.call('GET', at(name))).at('rules');
    const partOfEdit = rolesBy.get('system:aggregate-to-edit')?.rules ?? [];
    assert.deepEqual(await rulesOf('system:aggregate-to-edit'), [...partOfEdit, own]);
    assert.deepEqual(await rulesOf('system:aggregate-to-view'), rolesBy.get('system:aggregate-to-view')?.rules);
    assert.ok((await next.call('GET', at('edit'))).at('aggregationRule'));
    await next.server.stop();
  }
});

test('a role that cannot be read at first is completed later', async () => {
  const api = await startTestApi();
  const url = `${CLUSTER_ROLES}/system:kube-dns`;
  await api.call('PATCH', url, { body: { rules: [] } });
  const unread = new Set([url]);
  const handle: ApiHandler = async (request) =>
    unread.delete(request.path)
      ? textAnswer(503, 'busy')
      : api.server.handle({ ...request, headers: { ...request.headers, authorization: 'Bearer admin' } });
  const clock = { ...createSystemClock(), sleep: () => Promise.resolve() };
  await ensureSystemObjects(handle, clock, { addresses: addressRange(DEFAULT_SERVICE_NETWORK) });
  assert.deepEqual((await api.call('GET', url)).at('rules.0.verbs'), ['list']);
  await api.stop();
});

test('a server starts although a quota leaves no room for roles', async () => {
  const store = createMemoryStore();
  const first = await startTestApi({ store });
  const hard = { 'count/rolebindings.rbac.authorization.k8s.io': '0' };
  const body = { metadata: { name: 'q' }, spec: { hard } };
  const made = await first.call('POST', '/api/v1/namespaces/kube-system/resourcequotas', { body });
  assert.equal(made.status, 201, made.textAt('message'));
  const url = '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/system:controller:token-cleaner';
  await first.call('PATCH', '/api/v1/namespaces/kube-system/resourcequotas/q/status', {
    body: { status: { hard, used: hard } },
  });
  assert.equal((await first.call('DELETE', url)).status, 200);
  await first.server.stop();
  const second = await startTestApi({ store });
  assert.equal((await second.call('GET', url)).status, 404);
  await second.stop();
});
