import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { createSystemClock } from '@holdfast/platform';
import { CachedObject } from '../cache/cached-object.ts';
import { ResourceCache } from '../cache/resource-cache.ts';
import type { Selection } from '../cache/selection.ts';
import { TURN_MS } from '../limits.ts';
import { configMapBody, startTestApi } from '../testing/fixture.ts';
import { Turns } from '../turns/turns.ts';
import { JUDGED_AT_ONCE, judgeAhead } from './judge-ahead.ts';

const PARTS = 5;
const OBJECTS = PARTS * JUDGED_AT_ONCE;
const USER = { name: 'slow', groups: [] };

/** Each look at this clock finds that the turn is over. */
function overdueClock(): ReturnType<typeof createSystemClock> {
  let now = 0;
  return { ...createSystemClock(), monotonic: () => (now += 2 * TURN_MS) };
}

const state = (index: number, app: string, revision: number): CachedObject => {
  const name = `m-${String(index).padStart(4, '0')}`;
  const stored = JSON.stringify({ metadata: { name, namespace: 'default', labels: { app } } });
  return new CachedObject(`core/configmaps/default/${name}`, stored, revision);
};

/** A cache of so many objects, and a selection of those with `app=a` that notes what it judges. */
function cacheOf(objects: number) {
  const cache = new ResourceCache(0, () => ({}));
  for (let index = 0; index < objects; index += 1) cache.load(state(index, index % 2 === 0 ? 'a' : 'b', index + 1));
  const judged: string[] = [];
  const selection: Selection = {
    namespace: 'default',
    exactName: undefined,
    exactField: undefined,
    matches: ({ metadata }: KubeObject) => {
      judged.push(metadata.name ?? '');
      return metadata.labels?.['app'] === 'a';
    },
  };
  return { cache, selection, judged };
}

const namesOf = (objects: readonly CachedObject[] = []): readonly string[] => objects.map(({ name }) => name);

test('many objects are matched in parts with pauses, each once, and the list matches none again', async (t) => {
  const { cache, selection, judged } = cacheOf(OBJECTS);
  const pauses = t.mock.method(Turns.prototype, 'goOn').mock;
  const ahead = await judgeAhead({ turns: new Turns(overdueClock()) }, USER, cache, { selection });
  assert.ok(pauses.callCount() >= PARTS - 1, `${pauses.callCount()} pauses`);
  assert.equal(judged.length, OBJECTS);
  assert.equal(cache.list({ selection: ahead })?.objects.length, OBJECTS / 2);
  assert.equal(judged.length, OBJECTS);
});

test('objects that change during a pause are listed with their new state, and only they are matched again', async () => {
  const { cache, selection, judged } = cacheOf(OBJECTS);
  const ahead = judgeAhead({ turns: new Turns(overdueClock()) }, USER, cache, { selection });
  assert.ok(ahead instanceof Promise);
  const change = (index: number, app: string, revision: number): void => {
    const { key, stored: value } = state(index, app, revision);
    cache.apply({ kind: 'updated', key, value, revision, previousRevision: index + 1 });
  };
  change(0, 'b', OBJECTS + 1);
  change(1, 'a', OBJECTS + 2);
  change(OBJECTS, 'a', OBJECTS + 3);
  const names = namesOf(cache.list({ selection: await ahead })?.objects);
  assert.deepEqual(names.slice(0, 2), ['m-0001', 'm-0002']);
  assert.equal(names.at(-1), `m-${String(OBJECTS).padStart(4, '0')}`);
  assert.equal(judged.length, OBJECTS + 3);
});

test('a page matches only as many objects as it needs', async () => {
  const { cache, selection, judged } = cacheOf(OBJECTS);
  const query = { selection, limit: JUDGED_AT_ONCE / 4 };
  await judgeAhead({ turns: new Turns(overdueClock()) }, USER, cache, query);
  assert.equal(judged.length, JUDGED_AT_ONCE / 2 + 1);
});

test('few small objects, or a named one, are not matched ahead', () => {
  const few = cacheOf(JUDGED_AT_ONCE);
  const deps = { turns: new Turns(overdueClock()) };
  assert.equal(judgeAhead(deps, USER, few.cache, { selection: few.selection }), few.selection);
  const many = cacheOf(OBJECTS);
  const named = { ...many.selection, exactName: 'm-0001' };
  assert.equal(judgeAhead(deps, USER, many.cache, { selection: named }), named);
  assert.deepEqual([...few.judged, ...many.judged], []);
});

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

async function countedPauses(t: TestContext, act: () => Promise<unknown>): Promise<number> {
  const { mock } = t.mock.method(Turns.prototype, 'goOn');
  await act();
  const count = mock.callCount();
  mock.restore();
  return count;
}

test('lists and watches of many objects by label pause once per part', async (t) => {
  const api = await startTestApi({ clock: overdueClock() });
  t.after(() => api.stop());
  for (let index = 0; index < OBJECTS; index += 1) {
    const { metadata, ...rest } = configMapBody(`m-${index}`, { k: 'v' }) as KubeObject;
    await api.call('POST', CONFIG_MAPS, { body: { ...rest, metadata: { ...metadata, labels: { app: 'a' } } } });
  }
  const selector = 'labelSelector=app=a,!b';
  const acts: readonly (readonly [name: string, act: (query: string) => Promise<unknown>])[] = [
    ['list', (query) => api.call('GET', `${CONFIG_MAPS}?${query}`)],
    ['watch', (query) => api.watch(`${CONFIG_MAPS}?watch=1&${query}`, 1)],
  ];
  for (const [name, act] of acts) {
    const plain = await countedPauses(t, () => act(''));
    const selecting = await countedPauses(t, () => act(selector));
    assert.ok(selecting - plain >= PARTS - 1, `${name}: ${selecting} pauses with a selector, ${plain} without`);
  }
});
