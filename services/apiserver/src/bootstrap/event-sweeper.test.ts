import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSystemClock, formatTime } from '@holdfast/platform';
import { EVENT_KEEP_MS, EVENT_SWEEP_INTERVAL_MS } from '../limits.ts';
import { startTestApi } from '../testing/fixture.ts';

test('events are removed an hour after they were last seen', async () => {
  const system = createSystemClock();
  let sweepNow: (() => void) | undefined;
  const clock = {
    ...system,
    timer: (delayMs: number, fire: () => void) => {
      if (delayMs !== EVENT_SWEEP_INTERVAL_MS || sweepNow !== undefined) return system.timer(delayMs, fire);
      sweepNow = fire;
      return { cancel: () => {} };
    },
  };
  const api = await startTestApi({ clock });
  const events = '/api/v1/namespaces/default/events';
  const event = (name: string, ageMs: number) => ({
    metadata: { name },
    involvedObject: { namespace: 'default' },
    lastTimestamp: formatTime(system.now() - ageMs),
  });
  assert.equal((await api.call('POST', events, { body: event('fresh', EVENT_KEEP_MS - 60_000) })).status, 201);
  // What counts is the last sighting, but never before the object was stored: age it in the store itself.
  assert.equal((await api.call('POST', events, { body: event('old', EVENT_KEEP_MS + 60_000) })).status, 201);
  const { object } = await api.store.get('core/events/default/old');
  assert.ok(object !== undefined);
  const value = object.value.replace(/"creationTimestamp":"[^"]*"/, '"creationTimestamp":"2020-01-01T00:00:00Z"');
  await api.store.write([{ kind: 'update', key: object.key, value, expectedRevision: object.revision }]);
  const rv = (await api.call('GET', events)).textAt('metadata.resourceVersion');
  const seen = api.watch(`${events}?watch=1&resourceVersion=${rv}`, 1);
  sweepNow?.();
  assert.equal((await seen)[0]?.type, 'DELETED');
  assert.deepEqual((await api.call('GET', events)).names(), ['fresh']);
  await api.stop();
});
