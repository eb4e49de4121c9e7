import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createMemoryStore } from '@holdfast/store/memory';
import { until } from '../testing/custom.ts';
import { configMapBody, requestOf, startTestApi } from '../testing/fixture.ts';
import { inTime } from './in-time.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

/** An API server whose write of a ConfigMap waits, and whose timers of this delay fire when the test says so. */
async function start(t: TestContext, ownMs: number) {
  const store = createMemoryStore();
  const write = store.write.bind(store);
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const timers = new Set<() => void>();
  const system = createSystemClock();
  let passedMs = 0;
  const timer: typeof system.timer = (delayMs, fire) => {
    if (delayMs !== ownMs) return system.timer(delayMs, fire);
    timers.add(fire);
    return { cancel: () => void timers.delete(fire) };
  };
  const monotonic = (): number => system.monotonic() + passedMs;
  const api = await startTestApi({ store, clock: { ...system, monotonic, timer } });
  t.after(() => api.stop());
  store.write = async (operations, options) => {
    if (operations.some(({ key }) => key.includes('/configmaps/'))) {
      begun.resolve();
      await held.promise;
    }
    return write(operations, options);
  };
  const pass = (): void => {
    passedMs += ownMs;
    for (const fire of timers) fire();
  };
  return { api, begun: begun.promise, release: held.resolve, timers, pass };
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

test('a request without a timeout has a minute, and a watch has none', async (t) => {
  const { api, begun, release, pass } = await start(t, 60_000);
  const watched = api.watch(`${MAPS}?watch=1`, 1);
  const asked = api.call('POST', MAPS, { body: configMapBody('a') });
  await begun;
  pass();
  const late = await asked;
  assert.deepEqual([late.status, late.at('reason')], [504, 'Timeout']);
  release();
  assert.deepEqual(
    (await watched).map(({ type }) => type),
    ['ADDED'],
  );
});

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
