import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';
import { ADMISSION } from '../testing/webhooks.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const POLICIES = `${ADMISSION}/validatingadmissionpolicies`;
const BINDINGS = `${ADMISSION}/validatingadmissionpolicybindings`;

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
  await grant('policies', [{ verbs: ['*'], apiGroups: ['admissionregistration.k8s.io'], resources: ['*'] }]);
});
afterEach(() => api.stop());

async function grant(name: string, rules: readonly object[]): Promise<void> {
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ apiGroup: role.apiGroup, kind: 'User', name: 'nobody' }];
  for (const [plural, body] of [
    ['clusterroles', { metadata: { name }, rules }],
    ['clusterrolebindings', { metadata: { name }, roleRef: role, subjects }],
  ] as const)
    assert.equal((await api.call('POST', `${RBAC}/${plural}`, { body })).status, 201);
  await api.call('GET', `${RBAC}/clusterrolebindings`);
}

const policyBody = (spec: object = {}): object => ({
  metadata: { name: 'p' },
  spec: {
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    matchConstraints: {
      resourceRules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    },
    validations: [{ expression: 'false', messageExpression: "string(params.data['token'])" }],
    ...spec,
  },
});
const bindingBody = (paramRef: object | undefined): object => ({
  metadata: { name: 'b' },
  spec: { policyName: 'p', validationActions: ['Deny'], paramRef },
});
const post = (url: string, body: object, as = 'nobody'): Promise<Answer> => api.call('POST', url, { as, body });
const causeOf = (answer: Answer): unknown => [answer.status, answer.at('details.causes.0.field')];

const NAMED = { name: 'x', namespace: 'kube-system', parameterNotFoundAction: 'Deny' };
const SELECTED = { selector: {}, namespace: 'kube-system', parameterNotFoundAction: 'Deny' };

test('a policy with parameters is written by those who may read all of them', async () => {
  const refused = await post(POLICIES, policyBody());
  assert.deepEqual(causeOf(refused), [422, 'spec.paramKind']);
  assert.match(refused.textAt('message'), /must have "get" permission on all objects of the referenced paramKind/);
  assert.equal((await post(POLICIES, policyBody(), 'admin')).status, 201);
  const label = (body: object): Promise<Answer> => api.call('PATCH', `${POLICIES}/p`, { as: 'nobody', body });
  assert.equal((await label({ metadata: { labels: { a: 'b' } } })).status, 200, 'the kind stays');
  const changed = await label({ spec: { paramKind: { kind: 'ConfigMap' } } });
  assert.deepEqual(causeOf(changed), [422, 'spec.paramKind']);
  await grant('config', [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }]);
  assert.equal((await label({ spec: { paramKind: { kind: 'ConfigMap' } } })).status, 200);
  await grant('one', [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['x'] }]);
  assert.deepEqual(causeOf(await label({ spec: { paramKind: { kind: 'Secret' } } })), [422, 'spec.paramKind']);
});

test('a policy whose kind is not known is written by those who may read everything', async () => {
  const paramKind = { apiVersion: 'later.example.com/v1', kind: 'Coral' };
  await grant('others', [{ verbs: ['get'], apiGroups: ['later.example.com'], resources: ['corals'] }]);
  assert.deepEqual(causeOf(await post(POLICIES, policyBody({ paramKind }))), [422, 'spec.paramKind']);
  await grant('group', [{ verbs: ['get'], apiGroups: ['later.example.com'], resources: ['*'] }]);
  assert.equal((await post(POLICIES, policyBody({ paramKind }))).status, 201);
});

test('a binding that names parameters is written by those who may read them', async () => {
  assert.equal((await post(POLICIES, policyBody(), 'admin')).status, 201);
  assert.equal((await post(`${BINDINGS}?dryRun=All`, bindingBody(undefined))).status, 201);
  const refused = await post(BINDINGS, bindingBody(NAMED));
  assert.deepEqual(causeOf(refused), [422, 'spec.paramRef']);
  assert.equal((await post(BINDINGS, bindingBody(NAMED), 'admin')).status, 201);
  const change = (spec: object): Promise<Answer> =>
    api.call('PATCH', `${BINDINGS}/b`, { as: 'nobody', body: { spec } });
  assert.equal((await change({ validationActions: ['Warn'] })).status, 200, 'the parameters stay');
  const again = (): Promise<Answer> =>
    post(`${BINDINGS}?dryRun=All`, { ...bindingBody(NAMED), metadata: { name: 'c' } });
  assert.deepEqual(causeOf(await again()), [422, 'spec.paramRef']);
  await grant('one', [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['x'] }]);
  assert.equal((await again()).status, 201);
  assert.deepEqual(causeOf(await change({ paramRef: { name: 'y' } })), [422, 'spec.paramRef']);
  assert.deepEqual(causeOf(await post(BINDINGS, bindingBody(SELECTED))), [422, 'spec.paramRef'], 'a selector lists');
  await grant('all', [{ verbs: ['list'], apiGroups: [''], resources: ['secrets'] }]);
  assert.equal(
    (await post(`${BINDINGS}?dryRun=All`, { ...bindingBody(SELECTED), metadata: { name: 'c' } })).status,
    201,
  );
});

test('a binding of a policy that is not there yet is written by those who may read everything', async () => {
  assert.deepEqual(causeOf(await post(BINDINGS, bindingBody(NAMED))), [422, 'spec.paramRef']);
  assert.equal((await post(BINDINGS, bindingBody(NAMED), 'admin')).status, 201);
});
