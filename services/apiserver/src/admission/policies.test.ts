import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { type Answer, configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const CONSTRAINTS = {
  resourceRules: [
    { operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
  ],
};

function post(plural: string, name: string, spec: object): Promise<Answer> {
  return api.call('POST', `${ADMISSION}/${plural}`, { body: { metadata: { name }, spec } });
}

async function policy(name: string, spec: object, binding: object = {}): Promise<void> {
  const made = await post('validatingadmissionpolicies', name, { matchConstraints: CONSTRAINTS, ...spec });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const bound = await post('validatingadmissionpolicybindings', `${name}-b`, {
    policyName: name,
    validationActions: ['Deny'],
    ...binding,
  });
  assert.equal(bound.status, 201, JSON.stringify(bound.body));
  await api.call('GET', `${ADMISSION}/validatingadmissionpolicybindings`);
}

const create = (name: string, data: Record<string, string> = {}): Promise<Answer> =>
  api.call('POST', CONFIG_MAPS, { body: configMapBody(name, data) });

const DENIED = (message: string): string =>
  `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-b' denied request: ${message}`;

test('a validation that fails refuses the request with its reason and message', async () => {
  await policy('p', {
    validations: [
      { expression: 'object.data.size() < 3', message: 'too many keys' },
      {
        expression: "!('bad' in object.data)",
        messageExpression: "'no bad in ' + object.metadata.name",
        reason: 'Forbidden',
      },
    ],
  });
  assert.equal((await create('ok', { a: '1' })).status, 201);
  const many = await create('c', { a: '1', b: '2', d: '3' });
  assert.equal(many.status, 422);
  assert.equal(many.at('message'), DENIED('too many keys'));
  assert.equal(many.at('reason'), 'Invalid');
  const bad = await create('c', { bad: '1' });
  assert.deepEqual([bad.status, bad.at('message')], [403, DENIED('no bad in c')]);
});

test('variables build on each other and are evaluated lazily', async () => {
  await policy('p', {
    variables: [
      { name: 'n', expression: 'object.data.size()' },
      { name: 'twice', expression: 'variables.n * 2' },
      { name: 'unused', expression: 'object.missing.deeply' },
    ],
    validations: [{ expression: 'variables.twice < 4' }],
  });
  assert.equal((await create('ok', { a: '1' })).status, 201);
  assert.equal((await create('c', { a: '1', b: '2' })).at('message'), DENIED('failed expression: variables.twice < 4'));
});

test('a failed evaluation refuses or is ignored, as the policy defines', async () => {
  await policy('p', { validations: [{ expression: "object.data.missing == '1'" }] });
  assert.match(
    (await create('c', { a: '1' })).textAt('message'),
    /expression 'object\.data\.missing == '1'' resulted in error: no such key: missing$/,
  );
  await api.call('DELETE', `${ADMISSION}/validatingadmissionpolicybindings/p-b`);
  await policy('q', { failurePolicy: 'Ignore', validations: [{ expression: "object.data.missing == '1'" }] });
  assert.equal((await create('c', { a: '1' })).status, 201);
});

test('a binding with action Warn admits the request', async () => {
  await policy('p', { validations: [{ expression: 'false', message: 'never' }] }, { validationActions: ['Warn'] });
  const warned = await create('c');
  assert.equal(warned.status, 201);
  assert.match(
    warned.headers['warning'] ?? '',
    /Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': never/,
  );
});

test('a policy without a binding has no effect, and a binding narrows its policy', async () => {
  await post('validatingadmissionpolicies', 'alone', {
    matchConstraints: CONSTRAINTS,
    validations: [{ expression: 'false' }],
  });
  await policy(
    'p',
    { validations: [{ expression: 'false' }] },
    { matchResources: { objectSelector: { matchLabels: { a: 'b' } } } },
  );
  assert.equal((await create('c')).status, 201);
});

test('expressions can use conditions, namespaces, users and old objects', async () => {
  await policy('p', {
    matchConditions: [{ name: 'not-nobody', expression: "request.userInfo.username != 'nobody'" }],
    validations: [
      { expression: "request.operation == 'UPDATE' ? oldObject.data.a == object.data.a : true", message: 'a stays' },
      { expression: "namespaceObject.metadata.name == 'default'" },
      { expression: "authorizer.requestResource.check('create').allowed()" },
    ],
  });
  assert.equal((await create('c', { a: '1' })).status, 201);
  const changed = await api.call('PATCH', `${CONFIG_MAPS}/c`, { body: { data: { a: '2' } } });
  assert.equal(changed.at('message'), DENIED('a stays'));
});

test('parameters come from another object', async () => {
  await policy(
    'p',
    {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConditions: [{ name: 'others', expression: "object.metadata.name != 'limits'" }],
      validations: [
        {
          expression: 'object.data.size() <= int(params.data.most)',
          messageExpression: "'at most ' + params.data.most",
        },
      ],
    },
    { paramRef: { name: 'limits', namespace: 'default', parameterNotFoundAction: 'Deny' } },
  );
  assert.match(
    (await create('c', { a: '1' })).textAt('message'),
    /no params found for policy binding with `Deny` parameterNotFoundAction$/,
  );
  await create('limits', { most: '1' });
  await api.call('GET', CONFIG_MAPS);
  assert.equal((await create('c', { a: '1', b: '2' })).at('message'), DENIED('at most 1'));
  assert.equal((await create('c', { a: '1' })).status, 201);
});

test('expressions that do not compile are refused with their position', async () => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [
      { validations: [{ expression: 'size(object.data)' }] },
      /spec\.validations\[0\]\.expression: Invalid value: "size\(object\.data\)": must evaluate to bool but got int$/,
    ],
    [{ validations: [{ expression: 'params.a == 1' }] }, /undeclared reference to 'params' \(in container ''\)/],
    [
      { validations: [{ expression: 'variables.x' }], variables: [{ name: 'x', expression: 'y' }] },
      /spec\.variables\[0\]\.expression: Invalid value: "y": compilation failed/,
    ],
    [
      { matchConditions: [{ name: 'm', expression: '1' }], validations: [{ expression: 'true' }] },
      /spec\.matchConditions\[0\]\.expression: Invalid value: "1": must evaluate to bool but got int$/,
    ],
  ];
  for (const [spec, message] of cases) {
    const refused = await post('validatingadmissionpolicies', 'bad', { matchConstraints: CONSTRAINTS, ...spec });
    assert.equal(refused.status, 422);
    assert.match(refused.textAt('message'), message);
  }
});

test('an expression that costs too much is stopped, and other requests do not wait', async () => {
  const nested = 'object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b + c != d))))';
  await policy('p', { validations: [{ expression: nested }] });
  const data = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 'x']));
  assert.match(
    (await create('c', data)).textAt('message'),
    /resulted in error: operation cancelled: actual cost limit exceeded$/,
  );
});

test('a variable with the name of an earlier one reads the earlier one, never itself', async () => {
  await policy('p', {
    variables: [
      { name: 'n', expression: 'object.data.size()' },
      { name: 'n', expression: 'variables.n + 1' },
      { name: 'n', expression: 'variables.n * 10' },
    ],
    validations: [{ expression: 'false', messageExpression: 'string(variables.n)' }],
  });
  assert.equal((await create('c', { a: '1', b: '2' })).at('message'), DENIED('30'));
});

test('policy checks are counted under the metric names of Kubernetes', async () => {
  await policy('p', { validations: [{ expression: "!('bad' in object.data)" }, { expression: 'object.data.a == 1' }] });
  await create('c', { bad: '1' });
  const metrics = String((await api.call('GET', '/metrics')).body);
  const labels = (fault: string): string =>
    `policy="p",policy_binding="p-b",error_type="${fault}",enforcement_action="deny"`;
  for (const fault of ['no_error', 'invalid_error']) {
    assert.ok(metrics.includes(`apiserver_validating_admission_policy_check_total{${labels(fault)}} 1`), metrics);
    assert.ok(metrics.includes(`policy_check_duration_seconds_count{${labels(fault)}} 1`));
  }
});
