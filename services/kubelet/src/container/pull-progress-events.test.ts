import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { PULL_PROGRESS_FIRST_MS, PULL_PROGRESS_MAX_MS } from '../limits.ts';
import { PullProgressEvents } from './pull-progress-events.ts';

const PROGRESS = { bytes: 1, totalBytes: 2, layers: 3, layersDone: 0 };

test('a pull that takes long is told less and less often, with what is known last, and no more after its end', () => {
  const clock = createVirtualClock();
  const told: [number, number | undefined][] = [];
  const events = new PullProgressEvents(clock, (elapsedMs, progress) => told.push([elapsedMs, progress?.bytes]));
  clock.skip(PULL_PROGRESS_FIRST_MS - 1);
  assert.deepEqual(told, []);
  clock.skip(1);
  events.take(PROGRESS);
  events.take({ ...PROGRESS, bytes: 2 });
  clock.skip(2 * PULL_PROGRESS_FIRST_MS);
  assert.deepEqual(told, [
    [PULL_PROGRESS_FIRST_MS, undefined],
    [3 * PULL_PROGRESS_FIRST_MS, 2],
  ]);
  clock.skip(10 * PULL_PROGRESS_MAX_MS);
  assert.ok(told.length <= 13, `${told.length} events in 20 minutes`);
  const last = told.length;
  events.stop();
  clock.skip(10 * PULL_PROGRESS_MAX_MS);
  assert.equal(told.length, last);
});
