import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChannelTails } from './channel-tails.ts';
import { MAX_REMEMBERED_CHANNELS, MAX_TAILS_PER_HEARTBEAT, TAIL_WINDOW_MS } from './limits.ts';

test('links every message to the one before it on its channel', () => {
  const tails = createChannelTails();
  tails.restartAfter(10);
  assert.equal(tails.advance('a', 11, 0), 10);
  assert.equal(tails.advance('b', 12, 0), 10);
  assert.equal(tails.advance('a', 13, 0), 11);
});

test('[TEST-10] a forgotten channel is never linked below its last message', () => {
  const tails = createChannelTails();
  for (let revision = 1; revision <= MAX_REMEMBERED_CHANNELS + 5; revision++)
    tails.advance(`c${revision}`, revision, 0);
  assert.ok(tails.advance('c3', 1_000_000, 0) >= 3);
  assert.ok(tails.advance('never seen', 1_000_001, 0) >= 5);
});

test('heartbeats name what changed lately and is published, the latest first to stay', () => {
  const tails = createChannelTails();
  tails.advance('old', 1, 0);
  tails.advance('new', 2, TAIL_WINDOW_MS);
  tails.advance('unpublished', 3, TAIL_WINDOW_MS);
  assert.deepEqual(tails.recent(TAIL_WINDOW_MS + 1, 2), { new: 2 });
  for (let i = 0; i < MAX_TAILS_PER_HEARTBEAT; i++) tails.advance(`c${i}`, 10 + i, TAIL_WINDOW_MS);
  const named = tails.recent(TAIL_WINDOW_MS, 1_000);
  assert.equal(Object.keys(named).length, MAX_TAILS_PER_HEARTBEAT);
  assert.ok(!('new' in named));
});
