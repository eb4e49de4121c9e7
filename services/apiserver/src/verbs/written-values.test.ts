import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { type Answer, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

/** A reader of a recently written object gets the writer's value, not one parsed from its text. */
const NS = '/api/v1/namespaces/default';
const APPS = '/apis/apps/v1/namespaces/default';
const CONTAINERS = [
  { name: 'main', image: 'busybox', resources: { limits: { cpu: '0.5' } }, ports: [{ containerPort: 80 }] },
];
const TEMPLATE = { metadata: { labels: { app: 'web' } }, spec: { containers: CONTAINERS } };

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const CREATED: readonly (readonly [string, object])[] = [
  [`${NS}/configmaps`, { metadata: { name: 'x', labels: {} }, data: { a: 'b' }, binaryData: null }],
  [`${NS}/secrets`, { metadata: { name: 'x' }, stringData: { a: 'b' } }],
  [`${NS}/services`, { metadata: { name: 'x' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }],
  [`${NS}/pods`, { metadata: { name: 'x' }, spec: TEMPLATE.spec, status: { phase: 'Running' } }],
  [
    `${APPS}/deployments`,
    { metadata: { name: 'x' }, spec: { selector: { matchLabels: { app: 'web' } }, template: TEMPLATE } },
  ],
  ['/api/v1/nodes', { metadata: { name: 'x' } }],
  ['/api/v1/namespaces', { metadata: { name: 'x' } }],
];

for (const [path, object] of CREATED) {
  test(`a value written at ${path} is read back exactly after a create, a patch, an update and a change of its status`, async () => {
    assertAsWritten(await api.call('POST', path, { body: object }), 201);
    const url = `${path}/x`;
    assertAsWritten(await api.call('GET', url), 200);
    const patched = await api.call('PATCH', url, { body: { metadata: { annotations: { a: 'b' } } } });
    assertAsWritten(patched, 200);
    assertAsWritten(await api.call('PUT', url, { body: patched.body }), 200);
    const status = await api.call('PATCH', `${url}/status`, { body: { status: { conditions: null } } });
    if (status.status !== 404) assertAsWritten(status, 200);
    assertAsWritten(await api.call('GET', url), 200);
  });
}

test('a pod is bound without rebuilding its value, and reads as its text', async () => {
  await api.call('POST', `${NS}/pods`, { body: { metadata: { name: 'x' }, spec: TEMPLATE.spec } });
  const before = await api.call('GET', `${NS}/pods/x`);
  const body = { metadata: { name: 'x', annotations: { why: 'free' } }, target: { kind: 'Node', name: 'n1' } };
  assert.equal((await api.call('POST', `${NS}/pods/x/binding`, { as: 'scheduler', body })).status, 201);
  const after = await api.call('GET', `${NS}/pods/x`);
  assertAsWritten(after, 200);
  assert.deepEqual(
    [after.at('spec.nodeName'), after.at('metadata.annotations.why'), after.at('status.conditions.0.type')],
    ['n1', 'free', 'PodScheduled'],
  );
  assert.equal(before.at('spec.nodeName'), undefined, 'the state before is as it was');
  assert.equal(
    valueAt(valueOf(after), 'spec.containers'),
    valueAt(valueOf(before), 'spec.containers'),
    'what did not change is shared',
  );
});

const valueOf = ({ raw }: Answer): unknown => (raw.body.kind === 'json' ? raw.body.value() : undefined);

function assertAsWritten(answer: Answer, status: number): void {
  const { body } = answer.raw;
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert(body.kind === 'json');
  const text: unknown = JSON.parse(Buffer.from(body.bytes()).toString());
  assert.deepEqual(body.value(), text);
  assertFrozen(body.value());
}

function assertFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  assert(Object.isFrozen(value), JSON.stringify(value));
  for (const child of Object.values(value)) assertFrozen(child);
}

const WITH_ZEROS = {
  hostNetwork: false,
  nodeName: '',
  automountServiceAccountToken: false,
  containers: [
    {
      name: 'main',
      image: 'busybox',
      tty: false,
      workingDir: '',
      env: [{ name: 'A', value: '' }],
      ports: [{ containerPort: 80, hostPort: 0, name: '' }],
      securityContext: { privileged: false, runAsUser: 0 },
      livenessProbe: { initialDelaySeconds: 0, periodSeconds: 0, tcpSocket: { port: 80, host: '' } },
    },
  ],
};

test('zero values that Kubernetes omits are neither stored nor owned, from any write', async () => {
  const pod = { metadata: { name: 'x', generateName: '' }, spec: WITH_ZEROS };
  const created = await api.call('POST', `${NS}/pods`, { body: pod });
  assertAsWritten(created, 201);
  const { livenessProbe: probe, ...container } = created.at('spec.containers.0') as Readonly<Record<string, unknown>>;
  assert.deepEqual(
    [container['tty'], container['workingDir'], container['env'], container['ports'], container['securityContext']],
    [
      undefined,
      undefined,
      [{ name: 'A' }],
      [{ containerPort: 80, protocol: 'TCP' }],
      { privileged: false, runAsUser: 0 },
    ],
  );
  assert.deepEqual(probe, {
    tcpSocket: { port: 80 },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
  const { hostNetwork, nodeName, automountServiceAccountToken } = created.at('spec') as Record<string, unknown>;
  assert.deepEqual([hostNetwork, nodeName, automountServiceAccountToken], [undefined, undefined, false]);
  assert.doesNotMatch(
    JSON.stringify(created.at('metadata.managedFields')),
    /f:(hostNetwork|tty|hostPort|generateName)/,
  );
  // The same pod, sent back with or without zeros.
  const spec = { ...(created.at('spec') as Readonly<Record<string, unknown>>), hostNetwork: false };
  assert.equal(
    (await api.call('PUT', `${NS}/pods/x`, { body: { metadata: created.at('metadata'), spec } })).status,
    200,
  );
  const patched = await api.call('PATCH', `${NS}/pods/x`, { body: { spec: { hostNetwork: false, hostname: '' } } });
  assert.deepEqual(patched.body, created.body);
});

test('an applied zero value is owned by its applier, and not stored', async (t) => {
  let later = 0;
  const system = createSystemClock();
  const own = await startTestApi({ clock: { ...system, now: () => system.now() + later } });
  t.after(() => own.stop());
  const body = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x' },
    spec: { paused: false, selector: { matchLabels: { app: 'web' } }, template: TEMPLATE },
  };
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const url = `${APPS}/deployments/x?fieldManager=a`;
  const applied = await own.call('PATCH', url, { headers, body });
  assert.deepEqual([applied.status, applied.at('spec.paused')], [201, undefined]);
  assert.match(JSON.stringify(applied.at('metadata.managedFields')), /f:paused/);
  later = 5_000;
  const again = await own.call('PATCH', url, { headers, body });
  assert.equal(again.at('metadata.resourceVersion'), applied.at('metadata.resourceVersion'));
});

test('a scale of zero omits its size, and can be changed', async () => {
  const body = {
    metadata: { name: 'x' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: TEMPLATE },
  };
  await api.call('POST', `${APPS}/deployments`, { body });
  const url = `${APPS}/deployments/x/scale`;
  const none = await api.call('PATCH', url, { body: { spec: { replicas: 0 } } });
  assert.deepEqual([none.status, none.at('spec')], [200, {}]);
  assert.equal((await api.call('GET', `${APPS}/deployments/x`)).at('spec.replicas'), 0);
  const sent = { ...(none.body as Readonly<Record<string, unknown>>), spec: { replicas: 3 } };
  assert.deepEqual((await api.call('PUT', url, { body: sent })).at('spec'), { replicas: 3 });
  assert.deepEqual(
    (await api.call('PUT', url, { body: { ...sent, metadata: { name: 'x' }, spec: {} } })).at('spec'),
    {},
  );
});
