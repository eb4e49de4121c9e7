import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { CORALS, coral, coralDefinition, define, schemaWith } from '../testing/custom.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';
import { ADMISSION, patchAnswer } from '../testing/webhooks.ts';

const SECOND = CORALS.replace('/v1/', '/v2/');

type Told = Readonly<Record<string, unknown>> & { readonly uid: string; readonly object: JsonObject };

/** v1 has `host`, v2 has `address`; the same webhook server converts and reviews. */
let api: TestApi;
let told: Told[];
let answer: object;
let conversionFails: boolean;

beforeEach(async () => {
  told = [];
  answer = { allowed: true };
  conversionFails = false;
  api = await startTestApi({ webhooks: { call: async (_target, body) => JSON.stringify(answerTo(JSON.parse(body))) } });
  const version = (name: string, field: string): object => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: schemaWith({ [field]: { type: 'string' } }),
  });
  const conversion = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://hook.example.com/convert' } },
  };
  const versions = [version('v1', 'host'), version('v2', 'address')];
  await define(api, coralDefinition({ definition: { versions, conversion } }));
});
afterEach(() => api.stop());

interface Body {
  readonly kind: string;
  readonly request: Told & { readonly desiredAPIVersion: string; readonly objects: readonly { spec: JsonObject }[] };
}

function answerTo({ kind, request }: Body): unknown {
  const { uid } = request;
  if (kind === 'AdmissionReview') {
    told.push(request);
    return { kind, apiVersion: 'admission.k8s.io/v1', response: { uid, ...answer } };
  }
  const { desiredAPIVersion, objects } = request;
  const field = desiredAPIVersion.endsWith('v2') ? 'address' : 'host';
  const convertedObjects = objects.map((object) => ({
    ...object,
    apiVersion: desiredAPIVersion,
    spec: { [field]: object.spec['host'] ?? object.spec['address'] },
  }));
  const result = conversionFails ? { status: 'Failed', message: 'no idea' } : { status: 'Success' };
  return { kind, apiVersion: 'apiextensions.k8s.io/v1', response: { uid, result, convertedObjects } };
}

const rulesFor = (...apiVersions: string[]): object[] => [
  { operations: ['*'], apiGroups: ['reef.example.com'], apiVersions, resources: ['corals'] },
];

async function post(plural: string, body: object): Promise<void> {
  const made = await api.call('POST', `${ADMISSION}/${plural}`, { body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await api.call('GET', `${ADMISSION}/${plural}`);
}

const hook = (kind: 'validating' | 'mutating', webhook: object): Promise<void> =>
  post(`${kind}webhookconfigurations`, {
    metadata: { name: 'h' },
    webhooks: [
      {
        name: 'h.example.com',
        clientConfig: { url: 'https://hook.example.com/review' },
        rules: rulesFor('v2'),
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        ...webhook,
      },
    ],
  });

async function policy(constraints: object, expression: string, spec: object = {}): Promise<void> {
  await post('validatingadmissionpolicies', {
    metadata: { name: 'p' },
    spec: {
      matchConstraints: { resourceRules: rulesFor('v2'), ...constraints },
      validations: [{ expression }],
      ...spec,
    },
  });
  await post('validatingadmissionpolicybindings', {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'] },
  });
}

const create = (name: string, host = 'x'): Promise<Answer> => api.call('POST', CORALS, { body: coral(name, { host }) });

const kindIn = (version: string): object => ({ group: 'reef.example.com', version, kind: 'Coral' });
const resourceIn = (version: string): object => ({ group: 'reef.example.com', version, resource: 'corals' });

describe('matchPolicy Equivalent', () => {
  test('a webhook for another version gets the objects converted to that version', async () => {
    await hook('validating', {});
    assert.equal((await create('a')).status, 201);
    await api.call('PATCH', `${CORALS}/a`, { body: { spec: { host: 'y' } } });
    const [made, changed] = told as [Told, Told];
    assert.deepEqual([made['kind'], made['resource']], [kindIn('v2'), resourceIn('v2')]);
    assert.deepEqual([made['requestKind'], made['requestResource']], [kindIn('v1'), resourceIn('v1')]);
    assert.deepEqual([made.object['apiVersion'], made.object['spec']], ['reef.example.com/v2', { address: 'x' }]);
    const old = changed['oldObject'] as JsonObject;
    assert.deepEqual([changed.object['spec'], old['spec']], [{ address: 'y' }, { address: 'x' }]);
  });

  test('a rule for the version of the request comes before one for another version', async () => {
    await hook('validating', { rules: [...rulesFor('v2'), ...rulesFor('v1')] });
    await create('a');
    assert.deepEqual([told[0]?.['kind'], told[0]?.object['spec']], [kindIn('v1'), { host: 'x' }]);
  });

  test('the patch of a webhook for another version changes the object of the request', async () => {
    await hook('mutating', {});
    answer = patchAnswer({ op: 'replace', path: '/spec/address', value: 'patched' });
    const made = await create('a');
    assert.deepEqual([made.at('apiVersion'), made.at('spec')], ['reef.example.com/v1', { host: 'patched' }]);
    assert.deepEqual((await api.call('GET', `${SECOND}/a`)).at('spec'), { address: 'patched' });
  });

  test('conditions of a webhook see the converted object', async () => {
    await hook('validating', { matchConditions: [{ name: 'x', expression: "object.spec.address == 'x'" }] });
    await create('a');
    await create('b', 'y');
    assert.deepEqual(
      told.map(({ name }) => name),
      ['a'],
    );
  });

  test('a failed conversion refuses the request with its reason', async () => {
    await hook('validating', {});
    conversionFails = true;
    const refused = await create('a');
    assert.equal(refused.status, 500);
    assert.match(
      refused.textAt('message'),
      /conversion webhook for reef\.example\.com\/v1, Kind=Coral failed: no idea$/,
    );
    assert.equal(told.length, 0);
  });

  test('a policy for another version checks the converted object', async () => {
    await policy(
      {},
      "object.spec.address == 'x' && request.kind.version == 'v2' && request.requestKind.version == 'v1'",
    );
    assert.equal((await create('a')).status, 201);
    const refused = await create('b', 'y');
    assert.equal(refused.status, 422);
    assert.match(
      refused.textAt('message'),
      /^corals\.reef\.example\.com "b" is forbidden: ValidatingAdmissionPolicy 'p'/,
    );
  });

  test('a policy follows its failurePolicy when the conversion fails', async () => {
    await policy({}, 'true');
    conversionFails = true;
    assert.match((await create('a')).textAt('message'), /denied request: failed to convert object version: .*no idea$/);
    await api.call('PATCH', `${ADMISSION}/validatingadmissionpolicies/p`, {
      body: { spec: { failurePolicy: 'Ignore' } },
    });
    await api.call('GET', `${ADMISSION}/validatingadmissionpolicies`);
    assert.equal((await create('a')).status, 201);
  });

  test('a webhook for the autoscaler of one version sees that of another', async () => {
    const rules = [
      { operations: ['*'], apiGroups: ['autoscaling'], apiVersions: ['v2'], resources: ['horizontalpodautoscalers'] },
    ];
    await hook('validating', { rules });
    const scaler = {
      metadata: { name: 's' },
      spec: {
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 50,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      },
    };
    const url = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
    assert.equal((await api.call('POST', url, { body: scaler })).status, 201);
    const [review] = told as [Told];
    const target = { type: 'Utilization', averageUtilization: 50 };
    assert.deepEqual((review.object['spec'] as JsonObject)['metrics'], [
      { type: 'Resource', resource: { name: 'cpu', target } },
    ]);
    assert.equal(review.object['apiVersion'], 'autoscaling/v2');
  });

  test('a webhook for events of the core group sees those of events.k8s.io', async () => {
    await hook('validating', {
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['events'] }],
    });
    const event = {
      metadata: { name: 'e' },
      eventTime: '2024-01-01T00:00:00.000000Z',
      reportingController: 'c',
      reportingInstance: 'i',
      action: 'a',
      reason: 'r',
      type: 'Normal',
      note: 'text',
      regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
    };
    const made = await api.call('POST', '/apis/events.k8s.io/v1/namespaces/default/events', { body: event });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.deepEqual([told[0]?.object['message'], told[0]?.object['apiVersion']], ['text', 'v1']);
    assert.deepEqual(told[0]?.['requestKind'], { group: 'events.k8s.io', version: 'v1', kind: 'Event' });
  });
});

describe('matchPolicy Exact', () => {
  test('a webhook for another version is not called', async () => {
    await hook('validating', { matchPolicy: 'Exact' });
    assert.equal((await create('a')).status, 201);
    assert.equal(told.length, 0);
  });

  test('a policy for another version does not check the object', async () => {
    await policy({ matchPolicy: 'Exact' }, 'false');
    assert.equal((await create('a')).status, 201);
  });
});
