import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import type { Change, Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
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

test('a feed that is cut while this server keeps writing does not fill the memory, and misses nothing', async (t) => {
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

test('writes during the load of the cache are included, between the pages and after the last one', async (t) => {
  const real = createMemoryStore();
  const write = async (name: string): Promise<void> => {
    const key = `core/pods/a/${name}`;
    const value = encodeStored({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'a' } });
    await real.write([{ kind: 'create', key, value }]);
  };
  await write('before');
  await write('deleted');
  let pages = 0;
  const store: Store = {
    ...storeMethods(real),
    list: async (prefix, options = {}) => {
      const page = await real.list(prefix, { ...options, limit: 1 });
      // Behind what was read, so that no later page shows it.
      await write(`a-${pages++}`);
      if (pages === 1) {
        const { object } = await real.get('core/pods/a/before');
        assert.ok(object !== undefined);
        await real.write([{ kind: 'delete', key: object.key, value: object.value, expectedRevision: object.revision }]);
      }
      return page;
    },
  };
  const cache = new WatchCache({ store, clock: createSystemClock(), log: createSilentLog(), fieldsOf: () => ({}) });
  await cache.start();
  t.after(() => cache.stop());
  const stored = (await real.list('core/pods/')).objects.map(({ key }) => key);
  assert.ok(await cache.waitFor(await real.currentRevision(), 10_000));
  assert.ok(pages >= 2);
  assert.deepEqual(
    cache
      .resource('core', 'pods')
      .all('a')
      .map(({ key }) => key),
    stored,
  );
});

function storeMethods(store: Store): Store {
  return {
    get: (key) => store.get(key),
    list: (prefix, options) => store.list(prefix, options),
    write: (operations, options) => store.write(operations, options),
    changes: (options) => store.changes(options),
    currentRevision: () => store.currentRevision(),
    compactedRevision: () => store.compactedRevision(),
    compact: (upTo) => store.compact(upTo),
    lineage: () => store.lineage(),
    writeIdAt: (revision) => store.writeIdAt(revision),
    halt: (reason) => store.halt(reason),
    haltedBy: () => store.haltedBy(),
    usage: () => store.usage(),
    health: () => store.health(),
    close: () => store.close(),
  };
}
