import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import type { Change, Store } from '@holdfast/store';
import { CACHE_AHEAD_OBJECTS_MAX } from '../limits.ts';
import { encodeStored } from './stored-json.ts';
import { WatchCache } from './watch-cache.ts';

const changeAt = (revision: number): Change => ({
  revision,
  kind: 'created',
  key: `core/pods/a/p${revision}`,
  value: encodeStored({ apiVersion: 'v1', kind: 'Pod', metadata: { name: `p${revision}`, namespace: 'a' } }),
  previousRevision: 0,
});

test('a feed that is cut while this server goes on writing does not fill the memory, and misses nothing', async (t) => {
  const last = CACHE_AHEAD_OBJECTS_MAX + 1;
  const changes = Array.from({ length: last }, (_, i) => changeAt(i + 1));
  let bring = (): void => {};
  const cut = new Promise<void>((resolve) => {
    bring = resolve;
  });
  const stopping = new AbortController();
  const store = {
    currentRevision: async () => 0,
    list: async () => ({ objects: [], more: false, revision: 0 }),
    async *changes() {
      await cut;
      yield changes;
      await new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve(), { once: true }));
    },
  } as unknown as Store;
  const cache = new WatchCache({ store, clock: createSystemClock(), log: createSilentLog(), fieldsOf: () => ({}) });
  await cache.start();
  t.after(() => {
    stopping.abort();
    return cache.stop();
  });
  const written = changes.map((change) => cache.stateAfter(change));
  bring();
  assert.ok(await cache.waitFor(last, 10_000));
  const kept = changes.map(({ key }) => cache.byKey(key));
  assert.equal(
    kept.findIndex((object, i) => object !== written[i]),
    CACHE_AHEAD_OBJECTS_MAX,
    'what is not kept is made again',
  );
  assert.deepEqual(
    kept.map((object) => object?.stored),
    changes.map(({ value }) => value),
  );
});
