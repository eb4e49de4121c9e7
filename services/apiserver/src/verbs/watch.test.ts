import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { EVENTS_KEPT_PER_RESOURCE } from '../limits.ts';
import { startTestApi, valueAt } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

test('a revision before the kept history gives 410: an ERROR event for a watch, an answer for a continued list', async () => {
  const api = await startTestApi();
  for (const name of ['a', 'b', 'c']) await api.call('POST', CONFIG_MAPS, { body: { metadata: { name } } });
  const page = await api.call('GET', `${CONFIG_MAPS}?limit=1`);
  const { object } = await api.store.get('core/configmaps/default/a');
  assert.ok(object !== undefined);
  let expectedRevision = object.revision;
  for (let i = 0; i <= EVENTS_KEPT_PER_RESOURCE; i++) {
    const result = await api.store.write([{ kind: 'update', key: object.key, value: object.value, expectedRevision }]);
    assert.ok(result.outcome === 'committed');
    expectedRevision = result.lastRevision;
  }
  const late = await api.call('GET', `${CONFIG_MAPS}?limit=1&continue=${page.textAt('metadata.continue')}`);
  assert.deepEqual([late.status, late.at('reason')], [410, 'Expired']);
  const [event] = await api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=1`, 1);
  assert.deepEqual([event?.type, valueAt(event?.object, 'code')], ['ERROR', 410]);
  await api.stop();
});

test('a watch of tables refuses an unknown includeObject before it is open', async () => {
  const api = await startTestApi();
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const refused = await api.call('GET', `${CONFIG_MAPS}?watch=1&includeObject=Foo`, { headers });
  assert.deepEqual([refused.status, refused.at('reason')], [400, 'BadRequest']);
  const { body } = await api.call('GET', '/metrics');
  assert.doesNotMatch(String(body), /^apiserver_registered_watchers\{resource="configmaps"\} [1-9]/m);
  await api.stop();
});

test('a watch with a negative timeout ends at once; no timeout overflows the timer', async () => {
  const system = createSystemClock();
  const delays: number[] = [];
  const timer: typeof system.timer = (delayMs, fire) => {
    delays.push(delayMs);
    return delayMs < 10_000 ? system.timer(delayMs, fire) : { cancel: () => {} };
  };
  const api = await startTestApi({ clock: { ...system, timer } });
  await api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'a' } } });
  const events = await api.watch(`${CONFIG_MAPS}?watch=1&timeoutSeconds=-1`, 1_000);
  assert.ok(events.length < 1_000);
  delays.length = 0;
  for (const seconds of ['3000000', '9223372036854775807']) {
    const [first] = await api.watch(`${CONFIG_MAPS}?watch=1&timeoutSeconds=${seconds}`, 1);
    assert.equal(first?.type, 'ADDED');
  }
  const long = delays.filter((delayMs) => delayMs > 24 * 60 * 60_000);
  assert.equal(long.length, 2);
  for (const delayMs of long) assert.ok(delayMs < 2 ** 31, String(delayMs));
  await api.stop();
});
