import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@holdfast/platform';
import { IdleCheckpoints } from './idle-checkpoints.ts';

/** Fires the timers on request. */
function handClock(): { readonly clock: Clock; readonly fire: () => void; readonly isWaiting: () => boolean } {
  let next: (() => void) | undefined;
  const timer: Clock['timer'] = (_delay, run) => {
    next = run;
    return { cancel: () => (next = undefined) };
  };
  const fire = (): void => {
    const run = next;
    next = undefined;
    run?.();
  };
  const clock: Clock = { now: () => 0, monotonic: () => 0, timer, sleep: () => Promise.resolve() };
  return { clock, fire, isWaiting: () => next !== undefined };
}

test('the log is copied once when nobody writes any more, and not in the middle of writing', () => {
  const { clock, fire, isWaiting } = handClock();
  let copied = 0;
  const checkpoints = new IdleCheckpoints({ checkpoint: () => (copied += 1) }, clock);
  checkpoints.wrote();
  checkpoints.wrote();
  fire();
  assert.equal(copied, 0);
  fire();
  assert.equal(copied, 1);
  assert.ok(!isWaiting());
  checkpoints.wrote();
  fire();
  assert.equal(copied, 2);
});

test('nothing is copied after the end, and a copy that fails is no end', () => {
  const { clock, fire, isWaiting } = handClock();
  let tried = 0;
  const failing = (): void => {
    tried += 1;
    throw new Error('the disk is full');
  };
  const checkpoints = new IdleCheckpoints({ checkpoint: failing }, clock);
  checkpoints.wrote();
  fire();
  checkpoints.wrote();
  checkpoints.stop();
  assert.ok(!isWaiting());
  checkpoints.wrote();
  assert.ok(!isWaiting());
  assert.equal(tried, 1);
});
