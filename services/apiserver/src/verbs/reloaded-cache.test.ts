import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { createSystemClock } from '@holdfast/platform';
import { Compacted, type Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { WatchCache } from '../cache/watch-cache.ts';
import { TURN_MS } from '../limits.ts';
import { until } from '../testing/custom.ts';
import { configMapBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { Turns } from '../turns/turns.ts';
import { JUDGED_AT_ONCE } from './judge-ahead.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

interface Feed {
  readonly store: Store;
  /** From here on the feed tells nothing. */
  hold(): void;
  /** The feed ends because its changes are gone: the cache is loaded again. */
  lose(): void;
}

function losingFeed(): Feed {
  const store = createMemoryStore();
  const changes = store.changes.bind(store);
  let isHeld = false;
  let lose = (): void => {};
  const lost = new Promise<void>((resolve) => {
    lose = resolve;
  });
  store.changes = async function* (options) {
    for await (const told of changes(options)) {
      if (isHeld) {
        await lost;
        isHeld = false;
        throw new Compacted(0);
      }
      yield told;
    }
  };
  return {
    store,
    hold: () => {
      isHeld = true;
    },
    lose: () => lose(),
  };
}

const create = (api: TestApi, name: string): Promise<unknown> => {
  const { metadata, ...rest } = configMapBody(name) as KubeObject;
  return api.call('POST', CONFIG_MAPS, { body: { ...rest, metadata: { ...metadata, labels: { app: 'a' } } } });
};

test('a watch that waits while the cache is loaded again opens on the new one', async (t) => {
  const feed = losingFeed();
  const api = await startTestApi({ store: feed.store });
  t.after(() => api.stop());
  await create(api, 'told');
  feed.hold();
  await create(api, 'unheard');
  const waits = t.mock.method(WatchCache.prototype, 'waitFor').mock;
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const watching = api.watch(`${CONFIG_MAPS}?${query}`, 2);
  await until(async () => waits.callCount() > 0);
  feed.lose();
  const seen = (await watching).map(({ type, object }) => [type, valueAt(object, 'metadata.name')]);
  assert.deepEqual(seen, [
    ['ADDED', 'told'],
    ['ADDED', 'unheard'],
  ]);
});

test('a list that pauses while the cache is loaded again has the objects of its revision', async (t) => {
  const feed = losingFeed();
  let now = 0;
  const api = await startTestApi({
    store: feed.store,
    clock: { ...createSystemClock(), monotonic: () => (now += 2 * TURN_MS) },
  });
  t.after(() => api.stop());
  for (let index = 0; index <= JUDGED_AT_ONCE; index += 1) await create(api, `told-${index}`);
  await api.call('GET', CONFIG_MAPS);
  feed.hold();
  const stepped = t.mock.method(Turns.prototype, 'isOver', () => true);
  const paused = t.mock.method(Turns.prototype, 'goOn', () => undefined);
  let reloaded: Promise<unknown> | undefined;
  paused.mock.mockImplementation(() => {
    if (stepped.mock.callCount() === 0 || reloaded !== undefined) return undefined;
    reloaded = (async () => {
      await create(api, 'unheard');
      feed.lose();
      // A consistent read resolves when the new cache is in place.
      await api.call('GET', `${CONFIG_MAPS}?limit=1`);
    })();
    return reloaded as Promise<void>;
  });
  const listed = await api.call('GET', `${CONFIG_MAPS}?labelSelector=app=a,!b`);
  assert.ok(reloaded !== undefined);
  const unheard = await api.call('GET', `${CONFIG_MAPS}/unheard`);
  assert.equal(listed.at('metadata.resourceVersion'), unheard.at('metadata.resourceVersion'));
  assert.equal(listed.names().length, JUDGED_AT_ONCE + 2);
});
