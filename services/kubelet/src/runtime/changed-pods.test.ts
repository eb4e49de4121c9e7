import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedPods } from './changed-pods.ts';

const states = (entries: Readonly<Record<string, readonly [podUid: string, state: number]>>) =>
  new Map(Object.entries(entries).map(([id, [podUid, state]]) => [id, { podUid, state }]));

test('between two polls only new, removed and changed containers wake their pods', () => {
  const before = states({ same: ['a', 0], ends: ['b', 1], goes: ['c', 0] });
  const now = states({ same: ['a', 0], ends: ['b', 2], comes: ['d', 0] });
  assert.deepEqual([...changedPods(before, now)].toSorted(), ['b', 'c', 'd']);
  assert.deepEqual([...changedPods(now, now)], []);
});
