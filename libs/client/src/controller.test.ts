import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflict } from '@holdfast/machinery';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createController } from './controller.ts';
import type { ReconcileResult } from './port.ts';
import { createWorkQueue } from './work-queue.ts';

function rig(reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>, workers = 2) {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ clock });
  const log = createSilentLog();
  const controller = createController({ name: 'test', queue, workers, reconcile, clock, log, deadlineMs: 1_000 });
  void controller.start();
  return { clock, queue, controller };
}

test('a failed pass is requeued with back-off, a success resets the back-off', async () => {
  const at: number[] = [];
  const { clock, queue, controller } = rig(async () => {
    at.push(clock.monotonic());
    if (at.length < 4) throw new Error('not yet');
    return undefined;
  });
  queue.add('a');
  await clock.advance(1_000);
  assert.deepEqual(at, [0, 5, 15, 35]);
  assert.deepEqual(
    { ...controller.counters() },
    { passes: 4, conflicts: 0, failures: 3, deadlines: 0, active: 0, overdue: 0 },
  );
  await controller.stop();
});

test('a conflict is retried at once, a bounded number of times', async () => {
  let passes = 0;
  const { clock, queue, controller } = rig(async () => {
    passes++;
    throw conflict({ group: '', resource: 'pods', name: 'a' }, 'modified');
  });
  queue.add('a');
  await clock.advance(0);
  assert.equal(passes, 4);
  await clock.advance(5);
  assert.equal(passes, 5);
  await controller.stop();
});

test('a result may requeue its key', async () => {
  let passes = 0;
  const { clock, queue, controller } = rig(async () => {
    passes++;
    return { requeueAfterMs: 100 };
  });
  queue.add('a');
  await clock.advance(350);
  assert.equal(passes, 4);
  await controller.stop();
});

test('a pass that hangs frees its worker at the deadline and keeps its key locked', async () => {
  const passes: string[] = [];
  const hanging = Promise.withResolvers<undefined>();
  let aborted = false;
  const { clock, queue, controller } = rig((key, signal) => {
    passes.push(key);
    if (key !== 'hangs') return Promise.resolve(undefined);
    signal.addEventListener('abort', () => {
      aborted = true;
    });
    return hanging.promise;
  }, 1);
  queue.add('hangs');
  queue.add('other');
  await clock.advance(999);
  assert.deepEqual(passes, ['hangs']);
  await clock.advance(1);
  assert.equal(aborted, true);
  assert.deepEqual(passes, ['hangs', 'other']);
  queue.add('hangs');
  await clock.advance(10_000);
  assert.deepEqual(passes, ['hangs', 'other'], 'never twice at once');
  assert.equal(controller.counters().overdue, 1);
  hanging.resolve(undefined);
  await clock.advance(1);
  assert.equal(passes.length, 3);
  await controller.stop();
});

test('stop aborts running passes and waits for them', async () => {
  const { clock, queue, controller } = rig(
    (_key, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true })),
  );
  queue.add('a');
  await clock.advance(1);
  await controller.stop();
  assert.equal(controller.counters().active, 0);
  assert.equal(clock.pendingTimers(), 0);
});
