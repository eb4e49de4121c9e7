import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const signingKey = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

let api: TestApi;
before(async () => {
  api = await startTestApi({ serviceAccounts: { signingKey } });
});
after(() => api.stop());

for (const [as, method, path, status] of [
  ['anonymous', 'GET', '/healthz', 200],
  ['anonymous', 'GET', '/readyz/ping', 200],
  ['anonymous', 'POST', '/livez', 200],
  ['anonymous', 'GET', '/version', 200],
  ['anonymous', 'POST', '/version', 403],
  ['anonymous', 'GET', '/apis', 403],
  ['nobody', 'GET', '/apis', 200],
  ['nobody', 'GET', '/api/v1', 200],
  ['nobody', 'GET', '/', 403],
  ['nobody', 'GET', '/metrics', 403],
] as const) {
  test(`${method} ${path} of ${as} is ${status}`, async () => {
    assert.equal((await api.call(method, path, { as })).status, status);
  });
}

for (const [title, spec, authenticated, audiences] of [
  ['no particular audience', {}, true, ['https://kubernetes.default.svc']],
  [
    'this API and others',
    { audiences: ['vault', 'https://kubernetes.default.svc'] },
    true,
    ['https://kubernetes.default.svc'],
  ],
  ['others', { audiences: ['vault'] }, undefined, undefined],
] as const) {
  test(`a token without audiences, reviewed for ${title}`, async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'nobody', ...spec } };
    const seen = await api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body });
    assert.deepEqual([seen.at('status.authenticated'), seen.at('status.audiences')], [authenticated, audiences]);
  });
}

describe('access reviews for a part of a list', () => {
  const own = [{ key: 'spec.nodeName', operator: 'In', values: ['a'] }];
  const ignored = 'due to parse error';
  for (const [title, selectors, allowed, problem] of [
    ['the pods of the own node', { fieldSelector: { requirements: own } }, true, undefined],
    ['the same as text', { fieldSelector: { rawSelector: 'spec.nodeName=a' } }, true, undefined],
    ['those of another node', { fieldSelector: { rawSelector: 'spec.nodeName=b' } }, false, undefined],
    [
      'what cannot be read',
      { fieldSelector: { rawSelector: 'x' }, labelSelector: { rawSelector: '!' } },
      false,
      `spec.resourceAttributes.fieldSelector ignored ${ignored}; spec.resourceAttributes.labelSelector ignored ${ignored}`,
    ],
    [
      'what can be read in part',
      { fieldSelector: { requirements: [...own, { key: 'x', operator: 'In', values: ['a', 'b'] }] } },
      true,
      `spec.resourceAttributes.fieldSelector partially ignored ${ignored}`,
    ],
    [
      'labels that can be read',
      { labelSelector: { requirements: [{ key: 'x', operator: 'In', values: ['a', 'b'] }] } },
      false,
      undefined,
    ],
  ] as const) {
    test(`a kubelet requests ${title}`, async () => {
      const resourceAttributes = { verb: 'list', resource: 'pods', ...selectors };
      const spec = { user: 'system:node:a', groups: ['system:nodes'], resourceAttributes };
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      const seen = await api.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body });
      assert.deepEqual([seen.at('status.allowed'), seen.at('status.evaluationError')], [allowed, problem]);
    });
  }
});

test('the permissions of a user are listed, and incomplete lists are marked', async () => {
  const rulesOf = async (headers: Readonly<Record<string, string>>) => {
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'default' },
    };
    const seen = await api.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { headers, body });
    const rules = seen.at('status.resourceRules');
    const all = Array.isArray(rules) && rules.some((rule) => String(valueAt(rule, 'resources')) === '*');
    return [all, seen.at('status.incomplete'), seen.at('status.evaluationError')];
  };
  const nodes = 'node authorizer does not support user rule resolution';
  const lost = 'clusterrole.rbac.authorization.k8s.io "lost" not found';
  const asNode = { 'impersonate-user': 'system:node:a', 'impersonate-group': 'system:nodes' };
  const asNobody = { 'impersonate-user': 'nobody' };
  assert.deepEqual(await rulesOf({}), [true, false, undefined]);
  assert.deepEqual(await rulesOf(asNobody), [false, false, undefined]);
  assert.deepEqual(await rulesOf(asNode), [false, true, nodes]);
  const group = 'rbac.authorization.k8s.io';
  const body = {
    metadata: { name: 'b' },
    subjects: [{ kind: 'Group', name: 'system:authenticated', apiGroup: group }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'lost' },
  };
  assert.equal((await api.call('POST', `/apis/${group}/v1/clusterrolebindings`, { body })).status, 201);
  await api.call('GET', '/api/v1/pods');
  assert.deepEqual(await rulesOf(asNobody), [false, false, lost]);
  assert.deepEqual(await rulesOf(asNode), [false, true, `[${nodes}, ${lost}]`]);
});

test('managedFields in a review are ignored', async () => {
  const stranger = {
    manager: 'stranger',
    operation: 'Apply',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': {} },
  };
  const spec = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
  const body = { metadata: { managedFields: [stranger, 'none at all'] }, spec };
  const headers = { 'user-agent': 'me/1' };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const answer = await api.call('POST', path, { as: 'nobody', body, headers });
  assert.equal(answer.status, 201);
  assert.deepEqual(
    [answer.textAt('metadata.managedFields.0.manager'), answer.at('metadata.managedFields.1')],
    ['me', undefined],
  );
});
