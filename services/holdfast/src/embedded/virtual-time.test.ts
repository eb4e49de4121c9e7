import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { createSystemClock, nextTurn } from '@holdfast/platform';
import { createVirtualTime } from './virtual-time.ts';

const REQUEST: ApiRequest = { method: 'GET', path: '/', query: new URLSearchParams(), headers: {} };
const ANSWER: ApiResponse = { status: 200, headers: {}, body: { kind: 'empty' } };

/** More turns than time waits when nobody has anything to do. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

test('virtual time: it begins at the time of the machine, and passes only when it is advanced', async () => {
  const real = createSystemClock();
  const time = createVirtualTime(real);
  const began = time.clock.now();
  assert.ok(Math.abs(began - real.now()) < 60_000);
  await time.advance(1_500);
  assert.equal(time.clock.now(), began + 1_500);
});

test('virtual time: it waits for a request of a component that is under way', async () => {
  const time = createVirtualTime(createSystemClock());
  const order: string[] = [];
  const answer = Promise.withResolvers<ApiResponse>();
  const asked = time
    .around(() => answer.promise)(REQUEST)
    .then(() => order.push('answered'));
  time.clock.timer(500, () => order.push('time'));
  const advanced = time.advance(1_000);
  await manyTurns();
  answer.resolve(ANSWER);
  await Promise.all([asked, advanced]);
  assert.deepEqual(order, ['answered', 'time']);
});

test('virtual time: a client of another process that was answered gets a moment to ask again', async () => {
  const time = createVirtualTime(createSystemClock());
  const order: string[] = [];
  const ask = time.fromOutside(() => Promise.resolve(ANSWER));
  await ask(REQUEST);
  time.clock.timer(500, () => order.push('time'));
  const advanced = time.advance(1_000);
  await manyTurns();
  await ask(REQUEST);
  order.push('asked again');
  await advanced;
  assert.deepEqual(order, ['asked again', 'time']);
});

test('virtual time: an advance whose caller has gone stops where it is', async () => {
  const time = createVirtualTime(createSystemClock());
  const began = time.clock.now();
  const caller = new AbortController();
  time.clock.timer(500, () => caller.abort());
  time.clock.timer(900, () => assert.fail('time went on'));
  await time.advance(1_000, caller.signal);
  assert.equal(time.clock.now(), began + 500);
});

test('virtual time: components that wait for time end', async () => {
  const time = createVirtualTime(createSystemClock());
  const began = time.clock.now();
  await time.end(time.clock.sleep(60_000));
  assert.ok(time.clock.now() >= began + 60_000);
});
