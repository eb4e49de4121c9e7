import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockContract } from '../contract/clock.ts';
import { createVirtualClock } from './virtual-clock.ts';

clockContract('virtual clock', () => {
  const clock = createVirtualClock();
  return { clock, advance: (ms) => clock.advance(ms) };
});

test('timers with equal times fire in the order of creation, each at its own time', () => {
  const clock = createVirtualClock(1_000);
  const fired: [name: string, at: number, now: number][] = [];
  const arm = (name: string, delayMs: number) =>
    clock.timer(delayMs, () => fired.push([name, clock.monotonic(), clock.now()]));
  arm('c', 20);
  arm('a', 10);
  arm('b', 10);
  clock.skip(15);
  assert.deepEqual(fired, [
    ['a', 10, 1_010],
    ['b', 10, 1_010],
  ]);
  assert.deepEqual([clock.monotonic(), clock.now(), clock.pendingTimers()], [15, 1_015, 1]);
});

test('promises settle between the timers of an advance, not between those of a skip', async () => {
  const order = async (pass: (clock: ReturnType<typeof createVirtualClock>) => void | Promise<void>) => {
    const clock = createVirtualClock();
    const seen: string[] = [];
    clock.timer(1, () => {
      seen.push('first');
      void Promise.resolve().then(() => seen.push('settled'));
    });
    clock.timer(2, () => seen.push('second'));
    await pass(clock);
    return seen;
  };
  assert.deepEqual(await order((clock) => clock.advance(5)), ['first', 'settled', 'second']);
  assert.deepEqual(await order((clock) => clock.skip(5)), ['first', 'second', 'settled']);
});

test('a timer started by a timer fires in the same advance when it is due', async () => {
  const clock = createVirtualClock();
  let fired = 0;
  const again = (): void => {
    fired += 1;
    clock.timer(10, again);
  };
  clock.timer(10, again);
  await clock.advance(35);
  assert.deepEqual([fired, clock.pendingTimers()], [3, 1]);
});

test('a jump of the wall clock fires no timer', () => {
  const clock = createVirtualClock();
  clock.timer(10, () => assert.fail('fired'));
  const before = clock.now();
  clock.jump(60_000);
  assert.deepEqual([clock.now() - before, clock.monotonic(), clock.pendingTimers()], [60_000, 0, 1]);
});

test('a cancelled timer is not pending', () => {
  const clock = createVirtualClock();
  clock.timer(10, () => assert.fail('fired')).cancel();
  assert.equal(clock.pendingTimers(), 0);
  clock.skip(20);
});
