import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { type Change, Compacted, type Store, StoreUnavailable } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { CACHE_AHEAD_OBJECTS_MAX, FEED_BROKEN_ENDS_WATCHES_MS, FEED_RETRY_MS } from '../limits.ts';
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
  const { cache, real, pages } = await loadUnderWrites();
  t.after(() => cache.stop());
  assert.ok(pages() >= 2);
  assert.ok(await cache.waitFor(await real.currentRevision(), 10_000));
  assert.deepEqual(namesIn(cache), await namesOf(real));
});

test('a watch that resumes where the cache was loading is told all, or to begin again', async (t) => {
  const { cache, real } = await loadUnderWrites();
  t.after(() => cache.stop());
  await writePod(real, 'later');
  const newest = await real.currentRevision();
  assert.ok(await cache.waitFor(newest, 10_000));
  for (let after = 0; after <= newest; after++) {
    const told = cache
      .resource('core', 'pods')
      .since(after)
      ?.map(({ revision }) => revision);
    const all = Array.from({ length: newest - after }, (_, i) => after + i + 1);
    if (told !== undefined) assert.deepEqual(told, all, `after ${after}`);
  }
  assert.equal(cache.resource('core', 'pods').since(newest - 1)?.length, 1);
});

test('while the cache is loaded again, readers see what it was', async (t) => {
  let seen: readonly string[] | undefined;
  let breakFeed = (): void => {};
  const broken = new Promise<void>((resolve) => {
    breakFeed = resolve;
  });
  let feeds = 0;
  const { cache, real } = await loadUnderWrites({
    onPage: () => {
      if (feeds > 1) seen ??= namesIn(cache);
    },
    changes: async function* (store, options) {
      feeds += 1;
      if (feeds !== 2) return yield* store.changes(options);
      await broken;
      feeds += 1;
      throw new Compacted(0);
    },
  });
  t.after(() => cache.stop());
  const before = namesIn(cache);
  await writePod(real, 'unheard');
  breakFeed();
  assert.ok(await cache.waitFor(await real.currentRevision(), 10_000));
  assert.deepEqual(seen, before);
  assert.deepEqual(namesIn(cache), await namesOf(real));
});

test('a feed that is back counts as whole although nothing is written', async (t) => {
  const clock = createVirtualClock();
  const real = createMemoryStore();
  await writePod(real, 'a');
  let isAway = false;
  let cut = (): void => {};
  const away = new StoreUnavailable('no answer');
  const store: Store = {
    ...storeMethods(real),
    currentRevision: () => (isAway ? Promise.reject(away) : real.currentRevision()),
    async *changes(options) {
      if (isAway) throw away;
      const broken = new Promise<never>((_, reject) => {
        cut = () => reject(away);
        options.signal.addEventListener('abort', () => reject(away), { once: true });
      });
      yield await broken;
    },
  };
  const cache = new WatchCache({ store, clock, log: createSilentLog(), fieldsOf: () => ({}) });
  await cache.start();
  t.after(() => cache.stop());
  isAway = true;
  cut();
  await clock.advance(FEED_BROKEN_ENDS_WATCHES_MS + FEED_RETRY_MS);
  assert.deepEqual([cache.current, cache.health().length], [false, 1]);
  isAway = false;
  await clock.advance(2 * FEED_RETRY_MS);
  assert.deepEqual([cache.current, cache.health()], [true, []]);
});

test('a feed that is back and has something to tell is whole when it has told', async (t) => {
  const clock = createVirtualClock();
  const real = createMemoryStore();
  let tell = (): void => {};
  let attempts = 0;
  const store: Store = {
    ...storeMethods(real),
    async *changes(options) {
      attempts += 1;
      if (attempts === 1) throw new StoreUnavailable('no answer');
      await new Promise<void>((resolve) => {
        tell = resolve;
        options.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      yield* real.changes(options);
    },
  };
  const cache = new WatchCache({ store, clock, log: createSilentLog(), fieldsOf: () => ({}) });
  await cache.start();
  t.after(() => cache.stop());
  await writePod(real, 'unheard');
  await clock.advance(2 * FEED_RETRY_MS);
  assert.deepEqual([attempts, cache.current], [2, false]);
  tell();
  assert.ok(await cache.waitFor(await real.currentRevision(), 10_000));
  assert.equal(cache.current, true);
});

const namesIn = (cache: WatchCache): readonly string[] =>
  cache
    .resource('core', 'pods')
    .all('a')
    .map(({ key }) => key);

const namesOf = async (store: Store): Promise<readonly string[]> =>
  (await store.list('core/pods/')).objects.map(({ key }) => key);

async function writePod(store: Store, name: string): Promise<void> {
  const key = `core/pods/a/${name}`;
  const value = encodeStored({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'a' } });
  await store.write([{ kind: 'create', key, value }]);
}

interface Interference {
  readonly onPage?: () => void;
  readonly changes?: (store: Store, options: Parameters<Store['changes']>[0]) => AsyncGenerator<readonly Change[]>;
}

/** A cache that has loaded pages of one object each, with a write behind every page and an object that has gone. */
async function loadUnderWrites({ onPage, changes }: Interference = {}): Promise<{
  readonly cache: WatchCache;
  readonly real: Store;
  readonly pages: () => number;
}> {
  const real = createMemoryStore();
  for (const name of ['before', 'deleted', 'z']) await writePod(real, name);
  let pages = 0;
  const store: Store = {
    ...storeMethods(real),
    ...(changes === undefined ? {} : { changes: (options) => changes(real, options) }),
    list: async (prefix, options = {}) => {
      onPage?.();
      const page = await real.list(prefix, { ...options, limit: 1 });
      pages += 1;
      // One behind what was read, so that no later page shows it, and one that a later page shows.
      if (pages < 6) {
        await writePod(real, `a-${pages}`);
        await writePod(real, `y-${pages}`);
      }
      if (pages === 1) await removePod(real, 'before');
      return page;
    },
  };
  const cache = new WatchCache({ store, clock: createSystemClock(), log: createSilentLog(), fieldsOf: () => ({}) });
  await cache.start();
  return { cache, real, pages: () => pages };
}

async function removePod(store: Store, name: string): Promise<void> {
  const { object } = await store.get(`core/pods/a/${name}`);
  assert.ok(object !== undefined);
  await store.write([{ kind: 'delete', key: object.key, value: object.value, expectedRevision: object.revision }]);
}

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
