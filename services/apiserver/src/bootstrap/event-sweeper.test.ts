import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import { createSystemClock, formatTime } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { EVENT_KEEP_MS, EVENT_SWEEP_INTERVAL_MS } from '../limits.ts';
import { startTestApi } from '../testing/fixture.ts';

const PATH = '/api/v1/namespaces/default/events';

/** A server with a manual clock and manual event sweeps. */
async function server(t: TestContext) {
  const system = createSystemClock();
  let aheadMs = 0;
  let setAheadMs = 0;
  /** Others have timers of this delay, too. */
  const due = new Set<() => void>();
  const clock = {
    ...system,
    now: () => system.now() + aheadMs + setAheadMs,
    monotonic: () => system.monotonic() + aheadMs,
    timer: (delayMs: number, fire: () => void) => {
      if (delayMs !== EVENT_SWEEP_INTERVAL_MS) return system.timer(delayMs, fire);
      due.add(fire);
      return { cancel: () => void due.delete(fire) };
    },
  };
  const api = await startTestApi({ clock });
  t.after(() => api.stop());
  return {
    api,
    post: async (name: string, ageMs = 0): Promise<void> => {
      const lastTimestamp = formatTime(clock.now() - ageMs);
      const body = { metadata: { name }, involvedObject: { namespace: 'default' }, lastTimestamp };
      assert.equal((await api.call('POST', PATH, { body })).status, 201);
    },
    /** Resolves after the sweep, when the next one is scheduled. */
    sweepAfter: async (ms: number): Promise<void> => {
      aheadMs += ms;
      await eventually(() => due.size > 0, 'a sweep is due');
      const fires = [...due];
      due.clear();
      for (const fire of fires) fire();
      await eventually(() => due.size > 0, 'the sweep is over');
    },
    setClockAhead: (ms: number): void => {
      setAheadMs += ms;
    },
    names: async () => (await api.call('GET', PATH)).names(),
  };
}

test('events from before the start are removed an hour after they were last seen', async (t) => {
  const { api, post, sweepAfter, names } = await server(t);
  await post('fresh', EVENT_KEEP_MS - 60_000);
  // The last occurrence counts, but not before the object was stored: ages it in the store itself.
  await post('old', EVENT_KEEP_MS + 60_000);
  const { object } = await api.store.get('core/events/default/old');
  assert.ok(object !== undefined);
  const value = object.value.replace(/"creationTimestamp":"[^"]*"/, '"creationTimestamp":"2020-01-01T00:00:00Z"');
  await api.store.write([{ kind: 'update', key: object.key, value, expectedRevision: object.revision }]);
  const rv = (await api.call('GET', PATH)).textAt('metadata.resourceVersion');
  const seen = api.watch(`${PATH}?watch=1&resourceVersion=${rv}`, 1);
  await sweepAfter(0);
  assert.equal((await seen)[0]?.type, 'DELETED');
  assert.deepEqual(await names(), ['fresh']);
});

test('events are removed an hour after they were last written', async (t) => {
  const { api, post, sweepAfter, names } = await server(t);
  await sweepAfter(0);
  await post('silent');
  await post('counted-up');
  await sweepAfter(EVENT_SWEEP_INTERVAL_MS);
  const again = { count: 2, lastTimestamp: formatTime(0) };
  assert.equal(
    (
      await api.call('PATCH', `${PATH}/counted-up`, {
        body: again,
        headers: { 'content-type': 'application/merge-patch+json' },
      })
    ).status,
    200,
  );
  await sweepAfter(EVENT_KEEP_MS - 2 * EVENT_SWEEP_INTERVAL_MS);
  await post('late');
  assert.deepEqual(await names(), ['counted-up', 'late', 'silent']);
  await sweepAfter(2 * EVENT_SWEEP_INTERVAL_MS);
  assert.deepEqual(await names(), ['counted-up', 'late']);
  await sweepAfter(EVENT_KEEP_MS - 2 * EVENT_SWEEP_INTERVAL_MS);
  assert.deepEqual(await names(), ['late']);
});

test('a wall clock jump removes no events', async (t) => {
  const { post, sweepAfter, setClockAhead, names } = await server(t);
  await sweepAfter(0);
  await post('young');
  setClockAhead(2 * EVENT_KEEP_MS);
  await sweepAfter(EVENT_SWEEP_INTERVAL_MS);
  assert.deepEqual(await names(), ['young']);
});
