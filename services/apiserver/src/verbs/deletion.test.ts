import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { parseTime } from '@holdfast/platform';
import { configMapBody, podBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

async function withBoundPod(run: (api: TestApi) => Promise<void>, spec: object = {}): Promise<void> {
  const api = await startTestApi();
  await api.call('POST', PODS, { body: podBody('p', { spec: { nodeName: 'a', ...spec } }) });
  await run(api);
  await api.stop();
}

const remove = (api: TestApi, body?: unknown) => api.call('DELETE', `${PODS}/p`, body === undefined ? {} : { body });

test('[SAFE-04] [TERM-01] [TERM-06] a graceful deletion keeps the pod and sets its deadline', async () => {
  await withBoundPod(async (api) => {
    const answer = await remove(api, { gracePeriodSeconds: 60 });
    assert.deepEqual([answer.status, answer.at('metadata.deletionGracePeriodSeconds')], [200, 60]);
    const instant = (field: string) => parseTime(answer.textAt(`metadata.${field}`)) ?? 0;
    const graceMs = instant('deletionTimestamp') - instant('creationTimestamp');
    assert.ok(graceMs >= 60_000 && graceMs <= 70_000, `${graceMs}`);
    assert.equal((await api.call('GET', `${PODS}/p`)).status, 200);
  });
});

const requests = [
  ['[TERM-05] [TERM-39] without a period the pod says it', undefined, 30],
  ['[TERM-16] [TERM-39] the period of the request wins', 7, 7],
  ['[TERM-41] a negative period becomes 1', -5, 1],
] as const;
for (const [title, gracePeriodSeconds, expected] of requests) {
  test(title, async () => {
    await withBoundPod(async (api) => {
      const answer = await remove(api, gracePeriodSeconds === undefined ? undefined : { gracePeriodSeconds });
      assert.equal(answer.at('metadata.deletionGracePeriodSeconds'), expected);
    });
  });
}

test('[SAFE-05] [TERM-43] a repeated deletion only shortens: a shorter period changes both fields, a longer one or none changes neither', async () => {
  await withBoundPod(async (api) => {
    const first = await remove(api, { gracePeriodSeconds: 60 });
    const longer = await remove(api, { gracePeriodSeconds: 90 });
    const silent = await remove(api);
    assert.deepEqual([longer.body, silent.body], [first.body, first.body]);
    const shorter = await remove(api, { gracePeriodSeconds: 20 });
    assert.equal(shorter.at('metadata.deletionGracePeriodSeconds'), 20);
    const moved =
      (parseTime(first.textAt('metadata.deletionTimestamp')) ?? 0) -
      (parseTime(shorter.textAt('metadata.deletionTimestamp')) ?? 0);
    assert.equal(moved, 40_000);
    await remove(api, { gracePeriodSeconds: 0 });
    assert.equal((await api.call('GET', `${PODS}/p`)).status, 404, 'no time at all is the shortest');
  });
});

test('the deadline stays readable for clients with any period; a shorter period moves it', async () => {
  await withBoundPod(async (api) => {
    for (const gracePeriodSeconds of [8_000_000_000_000_000, 300_000_000_000, 20_000_000_000, 60]) {
      const answer = await remove(api, { gracePeriodSeconds });
      assert.deepEqual([answer.status, answer.at('metadata.deletionGracePeriodSeconds')], [200, gracePeriodSeconds]);
      const instant = (field: string) => parseTime(answer.textAt(`metadata.${field}`)) ?? Number.NaN;
      const seconds = (instant('deletionTimestamp') - instant('creationTimestamp')) / 1000;
      const dated = Math.min(gracePeriodSeconds, 2 ** 63 / 1e9);
      assert.ok(seconds >= dated - 1 && seconds <= dated + 10, `${seconds}`);
    }
  });
});

test('[SAFE-09] [TERM-17] force deletion shows watchers grace 0 first and then the removal; the name is free at once', async () => {
  await withBoundPod(async (api) => {
    const rv = (await api.call('GET', `${PODS}/p`)).textAt('metadata.resourceVersion');
    const seen = api.watch(`${PODS}?watch=1&resourceVersion=${rv}`, 2);
    await remove(api, { gracePeriodSeconds: 0 });
    const events = (await seen).map(({ type, object }) => [
      type,
      valueAt(object, 'metadata.deletionGracePeriodSeconds'),
    ]);
    assert.deepEqual(events, [
      ['MODIFIED', 0],
      ['DELETED', 0],
    ]);
    assert.equal((await api.call('POST', PODS, { body: podBody('p') })).status, 201);
  });
});

test('[TERM-40] an unscheduled or finished pod is removed at once, whatever the request', async () => {
  const api = await startTestApi();
  await api.call('POST', PODS, { body: podBody('p') });
  await remove(api, { gracePeriodSeconds: 60 });
  assert.equal((await api.call('GET', `${PODS}/p`)).status, 404);
  await api.stop();
  await withBoundPod(async (bound) => {
    await bound.call('PATCH', `${PODS}/p/status`, { body: { status: { phase: 'Succeeded' } } });
    await remove(bound, { gracePeriodSeconds: 60 });
    assert.equal((await bound.call('GET', `${PODS}/p`)).status, 404);
  });
});

test('finalizers keep an object until the last one is removed', async () => {
  const api = await startTestApi();
  const body = { metadata: { name: 'held', finalizers: ['example.com/a', 'example.com/b'] } };
  await api.call('POST', CONFIG_MAPS, { body });
  const deleted = await api.call('DELETE', `${CONFIG_MAPS}/held`);
  assert.ok(deleted.at('metadata.deletionTimestamp') !== undefined);
  const keep = (finalizers: string[]) =>
    api.call('PATCH', `${CONFIG_MAPS}/held`, { body: { metadata: { finalizers } } });
  assert.equal((await keep(['example.com/a', 'example.com/b', 'example.com/c'])).status, 422);
  await keep(['example.com/b']);
  assert.equal((await api.call('GET', `${CONFIG_MAPS}/held`)).status, 200);
  assert.equal((await keep([])).status, 200);
  assert.equal((await api.call('GET', `${CONFIG_MAPS}/held`)).status, 404);
  await api.stop();
});

const policies = [
  ['Foreground', ['foregroundDeletion']],
  ['Orphan', ['orphan']],
] as const;
for (const [propagationPolicy, finalizers] of policies) {
  test(`${propagationPolicy} deletion leaves the object to the garbage collector`, async () => {
    const api = await startTestApi();
    await api.call('POST', CONFIG_MAPS, { body: configMapBody('owner') });
    const answer = await api.call('DELETE', `${CONFIG_MAPS}/owner`, { body: { propagationPolicy } });
    assert.deepEqual(answer.at('metadata.finalizers'), finalizers);
    await api.stop();
  });
}

test('preconditions that do not match are 409 and nothing is deleted', async () => {
  const api = await startTestApi();
  await api.call('POST', CONFIG_MAPS, { body: configMapBody('pre') });
  for (const preconditions of [{ uid: 'x' }, { resourceVersion: '1' }]) {
    const answer = await api.call('DELETE', `${CONFIG_MAPS}/pre`, { body: { preconditions } });
    assert.deepEqual([answer.status, answer.at('reason')], [409, 'Conflict']);
  }
  assert.equal((await api.call('GET', `${CONFIG_MAPS}/pre`)).status, 200);
  await api.stop();
});

test('deletecollection removes the selected objects and returns them', async () => {
  const api = await startTestApi();
  for (const n of ['1', '2', '3']) {
    await api.call('POST', CONFIG_MAPS, {
      body: { metadata: { name: `c${n}`, labels: { odd: String(Number(n) % 2) } } },
    });
  }
  const answer = await api.call('DELETE', `${CONFIG_MAPS}?labelSelector=odd%3D1`);
  assert.deepEqual(answer.names(), ['c1', 'c3']);
  const left = await api.call('GET', CONFIG_MAPS);
  assert.deepEqual(left.names(), ['c2']);
  await api.stop();
});

const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const jobBody = (name: string): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'task:1' }] } } },
});

test('a system priority class cannot be deleted by name', async () => {
  const api = await startTestApi();
  const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
  const refused = await api.call('DELETE', `${classes}/system-node-critical`);
  assert.deepEqual(
    [refused.status, refused.textAt('message')],
    [
      403,
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
    ],
  );
  assert.equal((await api.call('GET', `${classes}/system-node-critical`)).status, 200);
  assert.equal((await api.call('DELETE', `${classes}/toString`)).status, 404);
  assert.equal((await api.call('DELETE', classes)).status, 200);
  assert.deepEqual((await api.call('GET', classes)).names(), []);
  await api.stop();
});

test('a Job deleted without a propagation policy orphans its pods, with a warning', async () => {
  const api = await startTestApi();
  for (const name of ['silent', 'told', 'kept']) await api.call('POST', JOBS, { body: jobBody(name) });
  const silent = await api.call('DELETE', `${JOBS}/silent`);
  assert.match(silent.headers['warning'] ?? '', /child pods are preserved by default when jobs are deleted/);
  assert.deepEqual(silent.at('metadata.finalizers'), ['orphan']);
  const told = await api.call('DELETE', `${JOBS}/told`, { body: { propagationPolicy: 'Background' } });
  assert.deepEqual([told.headers['warning'], told.at('status')], [undefined, 'Success']);
  const kept = await api.call('DELETE', `${JOBS}/kept`, { body: { propagationPolicy: 'Foreground' } });
  assert.deepEqual(kept.at('metadata.finalizers'), ['foregroundDeletion']);
  const again = await api.call('DELETE', `${JOBS}/kept`);
  assert.deepEqual(again.at('metadata.finalizers'), ['foregroundDeletion'], 'what was decided stays');
  await api.stop();
});
