import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { WAY_OUT_RETRY_MS } from './limits.ts';
import { WayOutRequest } from './way-out-request.ts';

function rig(outcomes: string[]) {
  const clock = createVirtualClock();
  const warnings: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void warnings.push(message) };
  let asked = 0;
  const ask = async (): Promise<void> => {
    asked += 1;
    const why = outcomes.shift();
    if (why) throw new Error(why);
  };
  return { clock, warnings, ask, asked: () => asked, request: new WayOutRequest({ clock, log }) };
}

test('a way out that cannot be made is requested again until it is there, and the reason is stated once', async () => {
  const { clock, warnings, ask, asked, request } = rig(['no room', 'no room']);
  await request.begin(ask);
  await clock.advance(WAY_OUT_RETRY_MS - 1);
  assert.equal(asked(), 1);
  await clock.advance(WAY_OUT_RETRY_MS * 5);
  assert.deepEqual([asked(), warnings.length], [3, 1]);
});

test('nothing is requested after the end of the agent or of this process', async () => {
  const lost = rig(['no room']);
  await lost.request.begin(lost.ask);
  lost.request.cancel();
  await lost.clock.advance(WAY_OUT_RETRY_MS * 2);
  assert.equal(lost.asked(), 1);
  const closed = rig(['no room']);
  const begun = closed.request.begin(closed.ask);
  closed.request.cancel();
  await begun;
  await nextTurn();
  assert.equal(closed.clock.pendingTimers(), 0);
});
