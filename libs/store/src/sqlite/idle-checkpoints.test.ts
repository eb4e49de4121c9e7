import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { SQLITE_IDLE_CHECKPOINT_MS } from '../limits.ts';
import { IdleCheckpoints } from './idle-checkpoints.ts';

test('the log is checkpointed once when writes stop, and not between writes', () => {
  const clock = createVirtualClock();
  let copied = 0;
  const checkpoints = new IdleCheckpoints({ checkpoint: () => (copied += 1) }, clock);
  checkpoints.wrote();
  checkpoints.wrote();
  clock.skip(SQLITE_IDLE_CHECKPOINT_MS);
  assert.equal(copied, 0);
  clock.skip(SQLITE_IDLE_CHECKPOINT_MS);
  assert.equal(copied, 1);
  assert.equal(clock.pendingTimers(), 0);
  checkpoints.wrote();
  clock.skip(SQLITE_IDLE_CHECKPOINT_MS);
  assert.equal(copied, 2);
});

test('nothing is checkpointed after close, and a failed checkpoint is no failure of the store', () => {
  const clock = createVirtualClock();
  let tried = 0;
  const failing = (): void => {
    tried += 1;
    throw new Error('the disk is full');
  };
  const checkpoints = new IdleCheckpoints({ checkpoint: failing }, clock);
  checkpoints.wrote();
  clock.skip(SQLITE_IDLE_CHECKPOINT_MS);
  checkpoints.wrote();
  checkpoints.stop();
  assert.equal(clock.pendingTimers(), 0);
  checkpoints.wrote();
  assert.equal(clock.pendingTimers(), 0);
  assert.equal(tried, 1);
});
