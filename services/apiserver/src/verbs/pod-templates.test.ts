import { strict as assert } from 'node:assert';
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ serviceAccounts: { signingKey } });
});
afterEach(() => api.stop());

/** Each test has a template of its own: what one has sent, the server knows in the next. */
const specOf = (image: string): unknown => ({
  containers: [
    {
      name: 'main',
      image: `registry.example/${image}:1`,
      command: ['say', '"}{\\\\"'],
      resources: { requests: { cpu: '0.5' } },
      ports: [{ containerPort: 80 }],
    },
  ],
});

const podText = (name: string, spec: unknown, metadata: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec });

const create = (text: string, query = ''): Promise<Answer> => api.call('POST', `${PODS}${query}`, { body: text });

/** A pod without what is its own. */
function shape(answer: Answer): unknown {
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const name = answer.textAt('metadata.name');
  const token = answer.textAt('spec.volumes.0.name');
  assert.match(token, /^kube-api-access-/);
  const text = JSON.stringify({ spec: answer.at('spec'), fields: answer.at('metadata.managedFields.0.fieldsV1') });
  return JSON.parse(text.replaceAll(token, 'TOKEN').replaceAll(name, 'NAME'));
}

test('pods of one template have the value of the first one', async () => {
  const spec = specOf('alike');
  const first = await create(podText('p0', spec, { labels: { a: 'b' } }));
  for (let i = 1; i < 5; i++) {
    const next = await create(podText(`p${i}`, spec, { labels: { a: 'b' } }));
    assert.deepEqual(shape(next), shape(first));
    assert.notEqual(next.at('spec.volumes.0.name'), first.at('spec.volumes.0.name'));
    assert.equal(next.at('status.qosClass'), 'Burstable');
  }
  const labelled = await create(podText('other', spec, { annotations: { c: 'd' } }));
  assert.equal(labelled.at('metadata.annotations.c'), 'd');
  assert.deepEqual(labelled.at('spec.containers.0.resources'), first.at('spec.containers.0.resources'));
});

test('an error outside a known pod spec is reported as in a new object', async () => {
  const wrong = (spec: unknown): readonly (readonly [string, string])[] => [
    [podText('x', spec, { nonsense: 1 }), '?fieldValidation=Strict'],
    [podText('x', spec, { labels: { a: 1 } }), ''],
    [podText('X', spec), ''],
    [`${podText('x', spec)}}`, ''],
    [podText('x', spec).replace('"kind":"Pod"', '"kind":"Node"'), ''],
    [podText('x', spec).replace('"kind"', '"spec":{"containers":[]},"kind"'), '?fieldValidation=Strict'],
    [podText('x', spec).replace('"metadata"', '"status":3,"metadata"'), ''],
    [podText('x', 'mark', { annotations: { spec } }).replace('"mark"', '"\\u0040spec"'), ''],
  ];
  const spec = specOf('wrong');
  const before = await answers(wrong(spec));
  for (let i = 0; i < 3; i++) assert.equal((await create(podText(`p${i}`, spec))).status, 201);
  assert.deepEqual(await answers(wrong(spec)), before);
  assert.equal(
    before.every(([status]) => Number(status) >= 400),
    true,
    JSON.stringify(before),
  );
});

async function answers(bodies: readonly (readonly [string, string])[]): Promise<readonly (readonly unknown[])[]> {
  const all: (readonly unknown[])[] = [];
  for (const [text, query] of bodies) {
    const { status, body } = await create(text, query);
    all.push([status, body]);
  }
  return all;
}

test('only the spec of the pod itself is recognized as a pod spec', async () => {
  const inside = { containers: [{ name: 'inside', image: 'inside' }] };
  const manager = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { spec: inside },
  };
  const spec = specOf('outside');
  for (let i = 0; i < 3; i++) {
    const pod = await create(podText(`p${i}`, spec, { managedFields: [manager] }));
    assert.equal(pod.at('spec.containers.0.name'), 'main', JSON.stringify(pod.body));
  }
  for (let i = 0; i < 3; i++) {
    const pod = await create(podText(`q${i}`, inside));
    assert.equal(pod.at('spec.containers.0.name'), 'inside', JSON.stringify(pod.body));
  }
});

test('a pod like a valid one is refused when admission made it invalid', async () => {
  const spec = specOf('limited');
  for (let i = 0; i < 4; i++) assert.equal((await create(podText(`p${i}`, spec))).status, 201);
  const limits = [{ type: 'Container', default: { cpu: '100m' } }];
  const range = { metadata: { name: 'r' }, spec: { limits } };
  const made = await api.call('POST', '/api/v1/namespaces/default/limitranges', { body: range });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const refused = await create(podText('late', spec));
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  assert.match(refused.textAt('message'), /must be less than or equal to cpu limit of 100m/);
});
