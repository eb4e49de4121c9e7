import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onceDone } from './once-done.ts';

test('work that failed is tried again, and work that was done is not repeated', async () => {
  const outcomes = ['no room', ''];
  const tried: string[] = [];
  const lead = onceDone(async (network: string) => {
    tried.push(network);
    const why = outcomes.shift();
    if (why) throw new Error(why);
  });
  const both = await Promise.allSettled([lead('one'), lead('one')]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.deepEqual(tried, ['one'], 'both calls share one attempt');
  await lead('two');
  await lead('three');
  assert.deepEqual(tried, ['one', 'two']);
});
