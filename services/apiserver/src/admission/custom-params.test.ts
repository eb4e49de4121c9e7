import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { CORALS, coral, coralDefinition, define, definitionUrl, until } from '../testing/custom.ts';
import { type Answer, configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { ADMISSION, CONFIG_MAPS } from '../testing/webhooks.ts';

const REFUSED = `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `;

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
  await define(api, coralDefinition({ spec: { most: { type: 'integer' } } }));
});
afterEach(() => api.stop());

const keys = (...names: string[]): Promise<Answer> =>
  api.call('POST', `${CONFIG_MAPS}?dryRun=All`, {
    body: configMapBody('c', Object.fromEntries(names.map((name) => [name, '1']))),
  });

async function post(plural: string, name: string, spec: object): Promise<void> {
  const made = await api.call('POST', `${ADMISSION}/${plural}`, { body: { metadata: { name }, spec } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await api.call('GET', `${ADMISSION}/${plural}`);
}

async function policy(paramRef: object, failurePolicy = 'Fail'): Promise<void> {
  await post('validatingadmissionpolicies', 'p', {
    failurePolicy,
    paramKind: { apiVersion: 'reef.example.com/v1', kind: 'Coral' },
    matchConstraints: {
      resourceRules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    },
    validations: [
      {
        expression: 'object.data.size() <= params.spec.most',
        messageExpression: "'at most ' + string(params.spec.most)",
      },
    ],
  });
  await post('validatingadmissionpolicybindings', 'b', { policyName: 'p', validationActions: ['Deny'], paramRef });
}

async function limits(name: string, most: number, labels: object = {}): Promise<void> {
  const body = coral(name, { most }, { metadata: { name, labels } });
  assert.equal((await api.call('POST', CORALS, { body })).status, 201);
  await api.call('GET', CORALS);
}

test('parameters of a policy come from a custom resource, and follow its changes', async () => {
  await policy({ name: 'limits', namespace: 'default', parameterNotFoundAction: 'Deny' });
  await limits('limits', 1);
  assert.equal((await keys('a')).status, 201);
  assert.equal((await keys('a', 'b')).at('message'), `${REFUSED}at most 1`);
  await api.call('PATCH', `${CORALS}/limits`, { body: { spec: { most: 2 } } });
  await api.call('GET', CORALS);
  assert.equal((await keys('a', 'b')).status, 201);
});

test('custom resources are selected as parameters by their labels, and each is checked', async () => {
  await policy({ selector: { matchLabels: { use: 'yes' } }, parameterNotFoundAction: 'Deny' });
  await limits('wide', 5, { use: 'yes' });
  await limits('narrow', 1, { use: 'yes' });
  await limits('other', 0);
  assert.equal((await keys('a')).status, 201);
  assert.equal((await keys('a', 'b')).at('message'), `${REFUSED}at most 1`);
});

for (const [action, allowed] of [
  ['Allow', true],
  ['Deny', false],
] as const) {
  test(`a missing custom resource decides by parameterNotFoundAction ${action}`, async () => {
    await policy({ name: 'none', namespace: 'default', parameterNotFoundAction: action });
    const answer = await keys('a');
    if (allowed) assert.equal(answer.status, 201);
    else
      assert.match(answer.textAt('message'), /no params found for policy binding with `Deny` parameterNotFoundAction$/);
  });
}

for (const [failurePolicy, allowed] of [
  ['Ignore', true],
  ['Fail', false],
] as const) {
  test(`after the deletion of the definition of the parameters failurePolicy ${failurePolicy} decides`, async () => {
    await policy({ name: 'limits', namespace: 'default', parameterNotFoundAction: 'Allow' }, failurePolicy);
    await limits('limits', 0);
    assert.equal((await keys('a')).at('message'), `${REFUSED}at most 0`);
    const url = definitionUrl('corals.reef.example.com');
    await api.call('DELETE', url);
    await until(async () => (await api.call('GET', url)).status === 404);
    const answer = await keys('a');
    if (allowed) assert.equal(answer.status, 201);
    else {
      const why = "failed to find resource referenced by paramKind: 'reef.example.com/v1, Kind=Coral'";
      assert.equal(answer.at('message'), `${REFUSED}failed to configure policy: ${why}`);
    }
  });
}
