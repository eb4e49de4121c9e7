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

test('heartbeats name what changed lately, as far as it is published, and how quiet the others are', () => {
  const tails = createChannelTails();
  tails.advance('old', 1, 0);
  tails.advance('new', 2, TAIL_WINDOW_MS);
  tails.advance('on its way', 3, TAIL_WINDOW_MS);
  tails.advance('on its way', 4, TAIL_WINDOW_MS);
  assert.deepEqual(tails.recent(TAIL_WINDOW_MS + 1, 3), {
    tails: { new: 2, 'on its way': 3 },
    quiet: 1,
    crowded: false,
  });
});

test('[TEST-10] when more channels changed than can be named, the heartbeat says so and the latest are named', () => {
  const tails = createChannelTails();
  tails.restartAfter(7);
  assert.deepEqual(tails.recent(0, 7), { tails: {}, quiet: 7, crowded: false });
  tails.advance('first', 9, 0);
  for (let i = 0; i < MAX_TAILS_PER_HEARTBEAT; i++) tails.advance(`c${i}`, 10 + i, 0);
  const { tails: named, quiet, crowded } = tails.recent(0, 1_000);
  assert.equal(Object.keys(named).length, MAX_TAILS_PER_HEARTBEAT);
  assert.deepEqual([named['first'], quiet, crowded], [undefined, 9, true]);
});
