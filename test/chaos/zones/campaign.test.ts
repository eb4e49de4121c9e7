import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Change, StoreUnavailable } from '@holdfast/store';
import { Watcher } from './campaign.ts';

const CHANGE: Change = {
  kind: 'created',
  key: 'core/configmaps/default/a',
  value: '{}',
  revision: 1,
  previousRevision: 0,
};

/** A watch that tells one change, and then fails with this. */
function watcherThatFailsWith(error: Error): Watcher {
  return new Watcher({
    changes: async function* () {
      yield [CHANGE];
      throw error;
    },
  });
}

test('a watch that fails is no watch that ended with its store', async () => {
  const ended = watcherThatFailsWith(new StoreUnavailable('the store is closed'));
  await ended.reach(2);
  assert.deepEqual(ended.seen, [CHANGE]);
  await assert.rejects(watcherThatFailsWith(new Error('a follower misses nothing')).reach(2), /a watch ended/);
});
