import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createRecency } from './recency.ts';

const WITHIN_MS = 1_000;

/** A store at a revision, a cache that may lag, and a clock that is set. */
function world() {
  const state = { now: 0, revision: 5, follows: true, asked: 0 };
  const recency = createRecency({
    store: {
      currentRevision: async () => {
        state.asked += 1;
        return state.revision;
      },
    },
    cache: { revision: 5, waitFor: async (revision) => state.follows && revision === state.revision },
    clock: { ...createSystemClock(), monotonic: () => state.now },
  });
  return { state, isRecent: () => recency.isWithin(WITHIN_MS) };
}

test('the store is asked once in a while, by one caller for all', async () => {
  const { state, isRecent } = world();
  assert.deepEqual(await Promise.all([isRecent(), isRecent(), isRecent()]), [true, true, true]);
  assert.equal(state.asked, 1);
  state.now += WITHIN_MS;
  assert.equal(isRecent(), true, 'without a promise');
  state.now += 1;
  assert.equal(await isRecent(), true);
  assert.equal(state.asked, 2);
});

test('a cache that lags is not recent until it has caught up', async () => {
  const { state, isRecent } = world();
  state.follows = false;
  assert.equal(await isRecent(), false);
  assert.equal(await isRecent(), false);
  assert.equal(state.asked, 2);
  state.follows = true;
  assert.equal(await isRecent(), true);
  assert.equal(isRecent(), true);
});
