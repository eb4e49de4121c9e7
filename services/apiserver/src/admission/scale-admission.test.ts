import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { CORALS, coral, coralDefinition, define, schemaWith } from '../testing/custom.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';
import { ADMISSION, patchAnswer } from '../testing/webhooks.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
const LABELS = { app: 'web' };

type Told = Readonly<Record<string, unknown>> & { readonly uid: string };

let api: TestApi;
let told: Told[];
let answer: object;

beforeEach(async () => {
  told = [];
  answer = { allowed: true };
  api = await startTestApi({ webhooks: { call: async (_target, body) => JSON.stringify(answerTo(JSON.parse(body))) } });
  const spec = { selector: { matchLabels: LABELS }, replicas: 1, template: template() };
  await make(DEPLOYMENTS, { metadata: { name: 'web', labels: LABELS }, spec });
});
afterEach(() => api.stop());

const template = (): object => ({
  metadata: { labels: LABELS },
  spec: { containers: [{ name: 'main', image: 'example.com/web:1' }] },
});

function answerTo({ kind, request }: { kind: string; request: Told }): unknown {
  told.push(request);
  return { kind, apiVersion: 'admission.k8s.io/v1', response: { uid: request.uid, ...answer } };
}

async function make(path: string, body: object): Promise<void> {
  const made = await api.call('POST', path, { body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await api.call('GET', path);
}

const rules = (group: string, resource: string, version = 'v1'): object[] => [
  { operations: ['UPDATE'], apiGroups: [group], apiVersions: [version], resources: [resource] },
];

const hook = (kind: 'validating' | 'mutating', webhook: object): Promise<void> =>
  make(`${ADMISSION}/${kind}webhookconfigurations`, {
    metadata: { name: 'h' },
    webhooks: [
      {
        name: 'h.example.com',
        clientConfig: { url: 'https://hook.example.com/review' },
        rules: rules('apps', 'deployments/scale'),
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        ...webhook,
      },
    ],
  });

const scaleTo = (path: string, replicas: number): Promise<Answer> =>
  api.call('PATCH', `${path}/scale`, { body: { spec: { replicas } } });
const replicasOf = async (path: string): Promise<unknown> => (await api.call('GET', path)).at('spec.replicas');
const seenBy = (from: Told | undefined) => {
  const { kind, requestKind, resource, subResource, object, oldObject } = from ?? ({} as Told);
  const brief = (each: unknown) => {
    const { apiVersion, kind: ofObject, metadata, spec, ...rest } = each as JsonObject;
    return [apiVersion, ofObject, (metadata as JsonObject)['name'], spec, Object.keys(rest)];
  };
  return { kind, requestKind, resource, subResource, object: brief(object), oldObject: brief(oldObject) };
};

const scaleSeen = (name: string, resource: object, [before, after]: readonly [number, number]) => ({
  kind: SCALE,
  requestKind: SCALE,
  resource,
  subResource: 'scale',
  object: ['autoscaling/v1', 'Scale', name, { replicas: after }, ['status']],
  oldObject: ['autoscaling/v1', 'Scale', name, { replicas: before }, ['status']],
});
const ofDeployments = { group: 'apps', version: 'v1', resource: 'deployments' };

describe('admission of a scale', () => {
  for (const [how, scale] of [
    ['merge patch', () => scaleTo(`${DEPLOYMENTS}/web`, 3)],
    [
      'PUT',
      () =>
        api.call('PUT', `${DEPLOYMENTS}/web/scale`, {
          body: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'web' }, spec: { replicas: 3 } },
        }),
    ],
    [
      'apply',
      () =>
        api.call('PATCH', `${DEPLOYMENTS}/web/scale?fieldManager=m&force=true`, {
          headers: { 'content-type': 'application/apply-patch+yaml' },
          body: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'web' }, spec: { replicas: 3 } },
        }),
    ],
  ] as const) {
    test(`a validating webhook sees the Scale before and after: ${how}`, async () => {
      await hook('validating', {});
      assert.equal((await scale()).status, 200);
      assert.deepEqual(told.map(seenBy), [scaleSeen('web', ofDeployments, [1, 3])]);
    });
  }

  test('the patch of a mutating webhook changes the replicas, and nothing else', async () => {
    await hook('mutating', {});
    answer = patchAnswer(
      { op: 'replace', path: '/spec/replicas', value: 2 },
      { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
    );
    const scaled = await scaleTo(`${DEPLOYMENTS}/web`, 3);
    assert.deepEqual([scaled.status, scaled.at('spec.replicas')], [200, 2]);
    assert.deepEqual(told.map(seenBy), [scaleSeen('web', ofDeployments, [1, 3])]);
    const { body } = await api.call('GET', `${DEPLOYMENTS}/web`);
    const { metadata, spec } = body as { metadata: JsonObject; spec: JsonObject };
    assert.deepEqual([metadata['labels'], spec['replicas']], [LABELS, 2]);
  });

  test('a mutating webhook that leaves wrong replicas is refused', async () => {
    await hook('mutating', {});
    for (const [value, code] of [
      [-1, 422],
      ['two', 400],
    ] as const) {
      answer = patchAnswer({ op: 'replace', path: '/spec/replicas', value });
      assert.equal((await scaleTo(`${DEPLOYMENTS}/web`, 3)).status, code);
    }
    assert.equal(await replicasOf(`${DEPLOYMENTS}/web`), 1);
  });

  test('an object selector sees a Scale, which has no labels', async () => {
    await hook('validating', { objectSelector: { matchLabels: LABELS } });
    assert.equal((await scaleTo(`${DEPLOYMENTS}/web`, 3)).status, 200);
    assert.deepEqual(told, []);
  });

  test('a policy sees the Scale before and after', async () => {
    const expression =
      "object.kind == 'Scale' && request.kind.group == 'autoscaling' && !has(object.spec.template)" +
      ' && object.spec.replicas <= oldObject.spec.replicas + 1';
    await make(`${ADMISSION}/validatingadmissionpolicies`, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: rules('apps', 'deployments/scale') },
        validations: [{ expression }],
      },
    });
    await make(`${ADMISSION}/validatingadmissionpolicybindings`, {
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    });
    assert.equal((await scaleTo(`${DEPLOYMENTS}/web`, 3)).status, 422);
    assert.equal((await scaleTo(`${DEPLOYMENTS}/web`, 2)).status, 200);
    assert.equal(await replicasOf(`${DEPLOYMENTS}/web`), 2);
  });

  test('a webhook sees the Scale of a custom resource, also by a rule for another version', async () => {
    const schema = schemaWith({ replicas: { type: 'integer' } });
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    const versions = ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema,
      subresources: { scale },
    }));
    await define(api, coralDefinition({ definition: { versions } }));
    await make(CORALS, coral('c', { replicas: 1 }) as object);
    await hook('mutating', { rules: rules('reef.example.com', 'corals/scale', 'v2') });
    answer = patchAnswer({ op: 'replace', path: '/spec/replicas', value: 5 });
    assert.equal((await scaleTo(`${CORALS}/c`, 3)).status, 200);
    const resource = { group: 'reef.example.com', version: 'v2', resource: 'corals' };
    assert.deepEqual(told.map(seenBy), [scaleSeen('c', resource, [1, 3])]);
    assert.deepEqual(told[0]?.['requestResource'], { ...resource, version: 'v1' });
    assert.equal(await replicasOf(`${CORALS}/c`), 5);
  });
});
