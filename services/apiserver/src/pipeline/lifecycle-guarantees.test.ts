import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { allResources } from '@holdfast/api';
import { forceDeleteWarning } from '../admission/plugins/pod-ownership.ts';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { decideDeletion } from '../verbs/deletion.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** A pod on node a, which runs. */
async function runningPod(
  t: TestContext,
  change: { readonly spec?: object; readonly finalizers?: readonly string[] } = {},
) {
  const api = await startTestApi();
  t.after(() => api.stop());
  const { spec = {}, finalizers } = change;
  await api.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'a' } } });
  const metadata = { name: 'p', ...(finalizers === undefined ? {} : { finalizers }) };
  const created = await api.call('POST', PODS, { body: podBody('p', { metadata, spec: { nodeName: 'a', ...spec } }) });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const status = { phase: 'Running' };
  assert.equal((await api.call('PATCH', `${PODS}/p/status`, { as: 'node-a', body: { status } })).status, 200);
  return { api, uid: created.textAt('metadata.uid') };
}

const statusOf = async (api: TestApi): Promise<number> => (await api.call('GET', `${PODS}/p`)).status;

const removal = (uid: string) => ({ gracePeriodSeconds: 0, preconditions: { uid } });

test('[SAFE-03] the default grace period of a pod is 30 s, and every deletion uses the grace period of the pod', async (t) => {
  for (const [spec, expected] of [
    [{}, 30],
    [{ terminationGracePeriodSeconds: 45 }, 45],
  ] as const) {
    for (const as of ['admin', 'manager', 'scheduler', 'pod-gc', 'node-a']) {
      const { api } = await runningPod(t, { spec });
      const answer = await api.call('DELETE', `${PODS}/p`, { as });
      assert.deepEqual([answer.status, answer.at('metadata.deletionGracePeriodSeconds')], [200, expected], as);
    }
  }
});

test('[SAFE-10] finalizers keep a pod, despite force and despite the kubelet that saw its processes end', async (t) => {
  const finalizers = ['example.com/a', 'example.com/b'];
  const { api, uid } = await runningPod(t, { finalizers });
  for (const as of ['admin', 'node-a', 'admin']) {
    assert.equal((await api.call('DELETE', `${PODS}/p`, { as, body: removal(uid) })).status, 200);
    const held = await api.call('GET', `${PODS}/p`);
    assert.deepEqual([held.status, held.at('metadata.deletionGracePeriodSeconds')], [200, 0], `held after ${as}`);
    assert.deepEqual(held.at('metadata.finalizers'), finalizers);
  }
  const keep = (left: readonly string[]) =>
    api.call('PATCH', `${PODS}/p`, { body: { metadata: { finalizers: left } } });
  await keep(['example.com/b']);
  assert.equal(await statusOf(api), 200);
  await keep([]);
  assert.equal(await statusOf(api), 404, 'with the last one the pod is gone');
});

test('[SAFE-11] only the kubelet of its node removes a deleted running pod, whoever deletes it', async (t) => {
  const { api, uid } = await runningPod(t);
  for (const as of ['admin', 'manager', 'scheduler', 'pod-gc', 'node-a', 'node-b', 'fencer'])
    for (const body of [undefined, { gracePeriodSeconds: 1 }, { gracePeriodSeconds: -1 }]) {
      await api.call('DELETE', `${PODS}/p`, { as, ...(body === undefined ? {} : { body }) });
      assert.equal(await statusOf(api), 200, `${as} ${JSON.stringify(body)}`);
    }
  for (const as of ['manager', 'scheduler', 'pod-gc', 'node-b', 'fencer'])
    assert.equal((await api.call('DELETE', `${PODS}/p`, { as, body: removal(uid) })).status, 403, as);
  assert.equal(await statusOf(api), 200);
  assert.equal((await api.call('DELETE', `${PODS}/p`, { as: 'node-a', body: removal(uid) })).status, 200);
  assert.equal(await statusOf(api), 404);
});

test('[SAFE-11] any deletion removes a pod that cannot have a process: never scheduled, or finished', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  await api.call('POST', PODS, { body: podBody('p') });
  await api.call('DELETE', `${PODS}/p`, { as: 'manager' });
  assert.equal(await statusOf(api), 404);
  for (const phase of ['Succeeded', 'Failed']) {
    const { api: own } = await runningPod(t);
    await own.call('PATCH', `${PODS}/p/status`, { as: 'node-a', body: { status: { phase } } });
    await own.call('DELETE', `${PODS}/p`, { as: 'manager', body: { gracePeriodSeconds: 60 } });
    assert.equal(await statusOf(own), 404, phase);
  }
});

test('[SAFE-14] the right to delete includes force deletion; the answer says what may be lost', async (t) => {
  const { api } = await runningPod(t);
  const force = () => api.call('DELETE', `${PODS}/p`, { as: 'nobody', body: { gracePeriodSeconds: 0 } });
  assert.equal((await force()).status, 403);
  const group = 'rbac.authorization.k8s.io';
  const roles = `/apis/${group}/v1/namespaces/default`;
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }];
  await api.call('POST', `${roles}/roles`, { body: { metadata: { name: 'deletes' }, rules } });
  const subjects = [{ kind: 'User', name: 'nobody', apiGroup: group }];
  const roleRef = { apiGroup: group, kind: 'Role', name: 'deletes' };
  const bound = await api.call('POST', `${roles}/rolebindings`, {
    body: { metadata: { name: 'b' }, subjects, roleRef },
  });
  assert.equal(bound.status, 201, JSON.stringify(bound.body));
  const forced = await force();
  assert.equal(forced.status, 200, JSON.stringify(forced.body));
  assert.equal(forced.headers['warning'], `299 - "${forceDeleteWarning('p', 'a')}"`);
  assert.match(forceDeleteWarning('p', 'a'), /two instances may run at once, and data may be lost/);
  assert.equal(await statusOf(api), 404);
});

test('[SAFE-24] exactly one of several concurrent creations of one name succeeds, and a later one fails too', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const create = () => api.call('POST', PODS, { as: 'manager', body: podBody('p') });
  const answers = await Promise.all([create(), create(), create()]);
  answers.push(await create());
  const made = answers.filter(({ status }) => status === 201);
  assert.equal(made.length, 1);
  for (const answer of answers.filter((each) => !made.includes(each)))
    assert.deepEqual([answer.status, answer.at('reason')], [409, 'AlreadyExists']);
  assert.equal((await api.call('GET', `${PODS}/p`)).at('metadata.uid'), made[0]?.at('metadata.uid'));
});

test('[SAFE-34] no request of any user moves a running pod to another node', async (t) => {
  const { api } = await runningPod(t);
  const pod = (await api.call('GET', `${PODS}/p`)).body as { readonly spec: object };
  const moved = { ...pod, spec: { ...pod.spec, nodeName: 'b' } };
  const merge = { body: { spec: { nodeName: 'b' } } };
  const json = [{ op: 'replace', path: '/spec/nodeName', value: 'b' }];
  const target = { kind: 'Node', name: 'b' };
  for (const as of ['admin', 'scheduler', 'manager', 'node-a', 'node-b', 'fencer']) {
    const answers = await Promise.all([
      api.call('PUT', `${PODS}/p`, { as, body: moved }),
      api.call('PATCH', `${PODS}/p`, { as, ...merge }),
      api.call('PATCH', `${PODS}/p`, { as, headers: { 'content-type': 'application/json-patch+json' }, body: json }),
      api.call('POST', `${PODS}/p/binding`, { as, body: { metadata: { name: 'p' }, target } }),
      api.call('PATCH', `${PODS}/p/ephemeralcontainers`, { as, ...merge }),
      api.call('PATCH', `${PODS}/p/status`, { as, ...merge }),
    ]);
    const [put, patch, patchJson, binding] = answers.map(({ status }) => status);
    for (const status of [put, patch, patchJson, binding])
      assert.ok([403, 409, 422].includes(status ?? 0), `${as}: ${status}`);
    assert.equal((await api.call('GET', `${PODS}/p`)).at('spec.nodeName'), 'a', as);
  }
  const known = [
    'attach',
    'binding',
    'ephemeralcontainers',
    'eviction',
    'exec',
    'log',
    'portforward',
    'proxy',
    'status',
  ];
  const discovery = (await api.call('GET', '/api/v1')).body as {
    readonly resources: readonly { readonly name: string }[];
  };
  const ofPods = discovery.resources.map(({ name }) => name).filter((name) => name.startsWith('pods/'));
  assert.deepEqual(ofPods.map((name) => name.slice('pods/'.length)).toSorted(), known);
});

const pods = () => allResources().find(({ kind }) => kind === 'Pod') ?? assert.fail('pods are served');
const stored = (change: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: { nodeName: 'a', containers: [], terminationGracePeriodSeconds: 30 },
  status: { phase: 'Running' },
  ...change,
});

test('[TERM-38] a deletion without options is not graceful; a request always has options, even without a body', async (t) => {
  const ask = (options: object | undefined) =>
    decideDeletion({ definition: pods(), old: stored(), options, now: 0 }).kind;
  assert.deepEqual([ask(undefined), ask({})], ['remove', 'mark']);
  const held = stored({ metadata: { name: 'p', uid: 'u', finalizers: ['example.com/a'] } });
  assert.equal(decideDeletion({ definition: pods(), old: held, options: undefined, now: 0 }).kind, 'mark');
  const { api } = await runningPod(t);
  await api.call('DELETE', `${PODS}/p`);
  assert.equal(await statusOf(api), 200);
});

test('[TERM-42] the resulting grace period is stored, answered and enforced; 0 removes at once', async (t) => {
  const cases = [
    [undefined, 30],
    [7, 7],
    [-5, 1],
    [0, 0],
  ] as const;
  for (const [gracePeriodSeconds, result] of cases) {
    const { api } = await runningPod(t);
    const body = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    const answer = await api.call('DELETE', `${PODS}/p`, { body });
    assert.equal(answer.textAt('kind'), 'Pod', 'graceful kinds answer the object, also when it is gone');
    assert.equal(answer.at('metadata.deletionGracePeriodSeconds'), result);
    assert.equal(await statusOf(api), result === 0 ? 404 : 200);
  }
  const { api } = await runningPod(t);
  await api.call('PATCH', `${PODS}/p/status`, { as: 'node-a', body: { status: { phase: 'Failed' } } });
  const ended = await api.call('DELETE', `${PODS}/p`, { body: { gracePeriodSeconds: 60 } });
  assert.deepEqual([ended.at('metadata.deletionGracePeriodSeconds'), await statusOf(api)], [0, 404]);
});

const GUARANTEES = new URL('../../../../docs/pod-lifecycle.md', import.meta.url);

test('[SAFE-35] the guarantees are documented for users, each with its meaning, in the terms of the server', () => {
  const page = readFileSync(GUARANTEES, 'utf8').replaceAll('\n> ', '\n');
  const sections = new Map(
    page
      .split('\n## ')
      .slice(1)
      .map((part) => [part.split('\n')[0] ?? '', part.replaceAll(/\s+/g, ' ')]),
  );
  const told: readonly (readonly [string, readonly RegExp[]])[] = [
    ['Who removes a pod', [/only the kubelet/i, /never scheduled/i, /403/]],
    [
      'The grace period',
      [/at least/i, /30 s/, /only a later deletion .* can shorten it/i, /restarts the whole period/i],
    ],
    ['At most one instance, and exceptions', [/StatefulSet/, /at most one/i, /ReplicaSet.*two/is, /Deployment/]],
    ['Nodes that promise to stop', [/less than 8 s ago/, /two instances never run/i, /SAFE-32/, /hypervisor pauses/]],
    ['Storage that refuses old writers', [/number that only grows/, /is refused/, /It does not cover/]],
    ['Force deletion', [/gracePeriodSeconds: 0/, /two instances/i, /data/i, /finalizer/i]],
    ['Deleting a Node', [/processes have ended/i, /pod garbage collector/i, /StatefulSet/]],
    ['A machine under the name of another', [/OtherIncarnation/, /starts a second time/, /kubectl delete node/]],
    ['Shared volumes', [/not safe/i, /ReadWriteOnce/, /directories of one node/, /never provisioned anew/]],
    ['Everything else', [/Kubernetes 1\.32/, /never moves to another node/i, /not safe/i]],
  ];
  assert.deepEqual(
    [...sections.keys()],
    told.map(([title]) => title),
  );
  for (const [title, sentences] of told)
    for (const sentence of sentences) assert.match(sections.get(title) ?? '', sentence, title);
  assert.ok(page.replaceAll(/\s+/g, ' ').includes(forceDeleteWarning('NAME', 'NODE')), 'the warning, word for word');
  assert.match(readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8'), /docs\/pod-lifecycle\.md/);
});
