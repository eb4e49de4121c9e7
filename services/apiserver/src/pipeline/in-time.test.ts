import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock, type Log, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createMemoryStore } from '@holdfast/store/memory';
import { ANSWERS_UNDER_WAY_MAX } from '../limits.ts';
import type { WebhookCaller } from '../service-calls/port.ts';
import { until } from '../testing/custom.ts';
import { configMapBody, requestOf, startTestApi } from '../testing/fixture.ts';
import { ADMISSION, RULES } from '../testing/webhooks.ts';
import { AnswersUnderWay } from '../turns/answers-under-way.ts';
import { inTime } from './in-time.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

const SLICE = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';

/** Timers of this delay fire when the test lets that time pass. */
function heldClock(ownMs: number) {
  const timers = new Set<() => void>();
  const system = createSystemClock();
  let passedMs = 0;
  const timer: typeof system.timer = (delayMs, fire) => {
    if (delayMs !== ownMs) return system.timer(delayMs, fire);
    timers.add(fire);
    return { cancel: () => void timers.delete(fire) };
  };
  const pass = (): void => {
    passedMs += ownMs;
    for (const fire of timers) fire();
  };
  return { clock: { ...system, timer, monotonic: () => system.monotonic() + passedMs }, timers, pass };
}

/** An API server whose write of an object of this kind waits. */
async function start(t: TestContext, ownMs: number, kind = 'configmaps', log: Log = createSilentLog()) {
  const store = createMemoryStore();
  const write = store.write.bind(store);
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const { clock, ...time } = heldClock(ownMs);
  const api = await startTestApi({ store, clock, log });
  t.after(() => api.stop());
  store.write = async (operations, options) => {
    if (operations.some(({ key }) => key.includes(`/${kind}/`))) {
      begun.resolve();
      await held.promise;
    }
    return write(operations, options);
  };
  return { api, begun: begun.promise, release: held.resolve, ...time };
}

/** An API server with two ConfigMaps, and a webhook for them that answers when the test says so. */
async function startWithSlowReview(t: TestContext, ownMs: number, answers = new AnswersUnderWay()) {
  const asked = Promise.withResolvers<void>();
  const judged = Promise.withResolvers<void>();
  const call: WebhookCaller['call'] = async (_target, text) => {
    asked.resolve();
    await judged.promise;
    const { apiVersion, kind, request } = JSON.parse(text);
    return JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } });
  };
  const { clock, ...time } = heldClock(ownMs);
  const api = await startTestApi({ clock, answers, webhooks: { call } });
  t.after(() => api.stop());
  for (const name of ['a', 'b']) await api.call('POST', MAPS, { body: configMapBody(name) });
  const webhook = { name: 'slow.example.com', clientConfig: { url: 'https://slow.example.com' }, rules: RULES };
  const rest = { sideEffects: 'None', admissionReviewVersions: ['v1'] };
  const body = { metadata: { name: 'slow' }, webhooks: [{ ...webhook, ...rest }] };
  const made = await api.call('POST', `${ADMISSION}/validatingwebhookconfigurations`, { body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { api, asked: asked.promise, judge: judged.resolve, ...time };
}

test('a write that takes longer than its client waits is 504, and may be made all the same', async (t) => {
  const { api, begun, release, timers } = await start(t, 4_321);
  const asked = api.call('POST', `${MAPS}?timeout=4.321s`, { body: configMapBody('a') });
  await begun;
  assert.equal(timers.size, 1);
  for (const fire of timers) fire();
  const late = await asked;
  assert.deepEqual(
    [late.status, late.at('reason'), late.at('message')],
    [504, 'Timeout', 'Timeout: request did not complete within the allotted timeout'],
  );
  release();
  await until(async () => (await api.call('GET', `${MAPS}/a`)).status === 200);
});

test('a timeout is a minute at most, and is over with the answer', async (t) => {
  const { api, begun, release, timers } = await start(t, 60_000);
  const before = timers.size;
  const asked = api.call('POST', `${MAPS}?timeout=5m`, { body: configMapBody('a') });
  await begun;
  assert.equal(timers.size, before + 1);
  release();
  assert.equal((await asked).status, 201);
  assert.equal(timers.size, before);
});

test('a request without a timeout has a minute', async (t) => {
  const { api, begun, release, pass } = await start(t, 60_000);
  const asked = api.call('POST', MAPS, { body: configMapBody('a') });
  await begun;
  pass();
  const late = await asked;
  assert.deepEqual([late.status, late.at('reason')], [504, 'Timeout']);
  release();
});

test('the server itself waits as long as it has to', async (t) => {
  const warnings: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void warnings.push(message) };
  const { api, begun, release, pass } = await start(t, 60_000, 'endpointslices', log);
  const announced = api.server.announce({ ip: '192.0.2.1', port: 6443 });
  await begun;
  pass();
  release();
  await announced;
  assert.deepEqual(warnings, []);
  assert.equal((await api.call('GET', SLICE)).at('endpoints.0.addresses.0'), '192.0.2.1');
});

test('a request whose time is over when its turn comes does nothing', async (t) => {
  const answers = new AnswersUnderWay();
  const { api, asked, pass } = await startWithSlowReview(t, 7_000, answers);
  let wasAsked = false;
  void asked.then(() => (wasAsked = true));
  for (let sent = 0; sent < ANSWERS_UNDER_WAY_MAX; sent++) answers.sent();
  const answered = api.call('POST', `${MAPS}?timeout=7s`, { body: configMapBody('c') });
  await nextTurn();
  pass();
  assert.equal((await answered).status, 504);
  answers.written(ANSWERS_UNDER_WAY_MAX);
  for (let turn = 0; turn < WORK_TURNS; turn++) await nextTurn();
  assert.equal(wasAsked, false);
});

for (const [method, url, ownMs] of [
  ['POST', MAPS, 60_000],
  ['POST', `${MAPS}?timeout=7s`, 7_000],
  ['PUT', `${MAPS}/a`, 60_000],
  ['PATCH', `${MAPS}/a`, 60_000],
  ['DELETE', `${MAPS}/a`, 60_000],
  ['DELETE', MAPS, 60_000],
] as const) {
  test(`nothing is written when the time of ${method} ${url} is over`, async (t) => {
    const { api, asked, judge, pass } = await startWithSlowReview(t, ownMs);
    const before = await api.store.list('core/configmaps/default/');
    assert.equal(before.objects.length, 2);
    const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const body = configMapBody(method === 'POST' ? 'c' : 'a', { changed: 'yes' });
    const answered = api.call(method, url, { headers, ...(method === 'DELETE' ? {} : { body }) });
    await asked;
    pass();
    assert.equal((await answered).status, 504);
    judge();
    for (let turn = 0; turn < WORK_TURNS; turn++) await nextTurn();
    assert.deepEqual((await api.store.list('core/configmaps/default/')).objects, before.objects);
  });
}

/** More than the rest of a write takes. */
const WORK_TURNS = 20;

test('for the work, a client whose time is over has gone', async () => {
  const clock = createVirtualClock();
  let seen: AbortSignal | undefined;
  const asked = inTime(clock, 100, requestOf('GET', '/', {}), ({ signal }) => {
    seen = signal;
    return new Promise(() => {});
  });
  const refused = assert.rejects(asked, { code: 504 });
  assert.equal(seen?.aborted, false);
  await clock.advance(100);
  assert.equal(seen?.aborted, true);
  await refused;
});
