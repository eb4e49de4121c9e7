import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { type Answer, podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { ADMISSION, patchAnswer, startWebhookWorld } from '../testing/webhooks.ts';

const POD = '/api/v1/namespaces/default/pods/p';
const ACCOUNT = '/api/v1/namespaces/default/serviceaccounts/default';

let api: TestApi;
beforeEach(async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  api = await startTestApi({ serviceAccounts: { signingKey } });
  const account = { metadata: { name: 'default' } };
  await api.call('POST', '/api/v1/namespaces/default/serviceaccounts', { body: account });
  assert.equal((await api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody('p') })).status, 201);
});
afterEach(() => api.stop());

interface Rule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

/** Requests that the rule covers are refused unless the expression holds. */
async function policy(rule: Rule, expression: string): Promise<void> {
  const post = async (plural: string, name: string, spec: object): Promise<void> => {
    const made = await api.call('POST', `${ADMISSION}/${plural}`, { body: { metadata: { name }, spec } });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await api.call('GET', `${ADMISSION}/${plural}`);
  };
  await post('validatingadmissionpolicies', 'p', {
    matchConstraints: { resourceRules: [{ ...rule, apiGroups: ['*'], apiVersions: ['*'] }] },
    validations: [{ expression, messageExpression: "'not ' + object.metadata.name" }],
  });
  await post('validatingadmissionpolicybindings', 'b', { policyName: 'p', validationActions: ['Deny'] });
}

const bind = (node: string): Promise<Answer> =>
  api.call('POST', `${POD}/binding`, { body: { metadata: { name: 'p' }, target: { kind: 'Node', name: node } } });
const bindOld = (node: string): Promise<Answer> =>
  api.call('POST', '/api/v1/namespaces/default/bindings', {
    body: { metadata: { name: 'p' }, target: { kind: 'Node', name: node } },
  });
const evict = (gracePeriodSeconds: number): Promise<Answer> =>
  api.call('POST', `${POD}/eviction`, {
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' }, deleteOptions: { gracePeriodSeconds } },
  });
const ask = (audience: string): Promise<Answer> =>
  api.call('POST', `${ACCOUNT}/token`, {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [audience] } },
  });

test('a policy sees a binding as the client posts it', async () => {
  await policy(
    { operations: ['CREATE'], resources: ['pods/binding'] },
    "object.kind == 'Binding' && object.target.name == 'good'",
  );
  for (const answer of [await bind('bad'), await bindOld('bad')]) {
    assert.deepEqual([answer.status, answer.textAt('message').endsWith('denied request: not p')], [422, true]);
  }
  assert.equal((await bind('good')).status, 201);
});

test('a policy sees an eviction as the client posts it', async () => {
  await policy(
    { operations: ['CREATE'], resources: ['pods/eviction'] },
    "object.kind == 'Eviction' && object.deleteOptions.gracePeriodSeconds > 5 && request.subResource == 'eviction'",
  );
  const refused = await evict(1);
  assert.deepEqual([refused.status, refused.textAt('message').endsWith('denied request: not p')], [422, true]);
  assert.equal((await evict(6)).status, 201);
});

test('a policy sees a request for a token', async () => {
  await policy(
    { operations: ['CREATE'], resources: ['serviceaccounts/token'] },
    "object.spec.audiences.all(each, each != 'vault') && object.spec.expirationSeconds <= 3600",
  );
  assert.equal((await api.call('POST', `${ACCOUNT}/token`, { body: {} })).status, 201, 'it sees the defaults');
  const refused = await ask('vault');
  assert.deepEqual([refused.status, refused.textAt('message').endsWith('denied request: not default')], [422, true]);
  assert.equal((await ask('other')).status, 201);
});

test('the write that a binding or an eviction leads to is no request of its own', async () => {
  await policy({ operations: ['UPDATE', 'DELETE'], resources: ['pods', 'pods/*'] }, 'false');
  assert.equal((await bind('a')).status, 201);
  assert.equal((await evict(1)).status, 201);
  assert.equal((await api.call('DELETE', POD)).status, 422);
});

test('a webhook can refuse a binding and cannot change it, which is told', async () => {
  const world = await startWebhookWorld();
  const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/binding'] }];
  await world.hook('mutating', 'moves', { rules });
  await world.api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody('p') });
  const body = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'a' } };
  world.respond = () => patchAnswer({ op: 'replace', path: '/target/name', value: 'b' });
  const bound = await world.api.call('POST', `${POD}/binding`, { body });
  assert.equal(bound.status, 201);
  assert.match(bound.headers['warning'] ?? '', /its patch of the Binding is ignored/);
  assert.equal((await world.api.call('GET', POD)).at('spec.nodeName'), 'a');
  assert.equal(world.reviews.length, 1, 'the write of the pod is not shown');
  await world.stop();
});
