import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChannelTails } from './channel-tails.ts';
import { MAX_REMEMBERED_CHANNELS, MAX_TAILS_PER_HEARTBEAT, TAIL_WINDOW_MS } from './limits.ts';

const AT_ONCE = { nowMs: 0, published: Number.POSITIVE_INFINITY };
const lately = (published: number) => ({ nowMs: TAIL_WINDOW_MS, published });

test('each message is linked to the previous one of its channel', () => {
  const tails = createChannelTails();
  tails.restartAfter(10);
  assert.equal(tails.advance('a', 11, AT_ONCE), 10);
  assert.equal(tails.advance('b', 12, AT_ONCE), 10);
  assert.equal(tails.advance('a', 13, AT_ONCE), 11);
});

test('[TEST-10] an evicted channel is never linked below its last message', () => {
  const tails = createChannelTails();
  for (let revision = 1; revision <= MAX_REMEMBERED_CHANNELS + 5; revision++)
    tails.advance(`c${revision}`, revision, AT_ONCE);
  assert.ok(tails.advance('c3', 1_000_000, AT_ONCE) >= 3);
  assert.ok(tails.advance('never seen', 1_000_001, AT_ONCE) >= 5);
});

test('heartbeats name recently changed channels, up to the published revision, and bound the age of the others', () => {
  const tails = createChannelTails();
  tails.advance('old', 1, AT_ONCE);
  tails.advance('new', 2, lately(2));
  for (const revision of [3, 4, 5, 6]) tails.advance('on its way', revision, lately(2));
  for (const published of [3, 4, 5, 6]) {
    assert.deepEqual(tails.recent(TAIL_WINDOW_MS + 1, published), {
      tails: { new: 2, 'on its way': published },
      quiet: 1,
      crowded: false,
    });
  }
});

test('[TEST-10] when more channels changed than a heartbeat can name, it says so and names the latest', () => {
  const tails = createChannelTails();
  tails.restartAfter(7);
  assert.deepEqual(tails.recent(0, 7), { tails: {}, quiet: 7, crowded: false });
  tails.advance('first', 9, AT_ONCE);
  for (let i = 0; i < MAX_TAILS_PER_HEARTBEAT; i++) tails.advance(`c${i}`, 10 + i, AT_ONCE);
  const { tails: named, quiet, crowded } = tails.recent(0, 1_000);
  assert.equal(Object.keys(named).length, MAX_TAILS_PER_HEARTBEAT);
  assert.deepEqual([named['first'], quiet, crowded], [undefined, 9, true]);
});

test('a channel under load remembers only messages in flight', () => {
  const tails = createChannelTails();
  for (let revision = 1; revision <= 1_000; revision++) {
    tails.advance('busy', revision, { nowMs: 0, published: revision - 3 });
  }
  assert.deepEqual(tails.recent(0, 997).tails, { busy: 997 });
  assert.deepEqual(tails.recent(0, 990).tails, { busy: 997 }, 'what was on the bus long before is not remembered');
});
