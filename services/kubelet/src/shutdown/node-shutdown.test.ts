import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { podUsing } from '../testing/pressure.ts';
import { NodeShutdown } from './node-shutdown.ts';
import { planShutdown, readShutdownPeriods, type ShutdownFlags } from './plan.ts';

const periods = (flags: Partial<ShutdownFlags>) =>
  readShutdownPeriods({ gracePeriodMs: 0, criticalPodsMs: 0, gracePeriodByPodPriority: '', ...flags });

test('periods: regular pods, then critical pods; or by priority', () => {
  assert.deepEqual(periods({}), []);
  assert.deepEqual(periods({ gracePeriodMs: 30_000, criticalPodsMs: 10_000 }), [
    { priority: 0, seconds: 20 },
    { priority: 2_000_000_000, seconds: 10 },
  ]);
  assert.deepEqual(periods({ gracePeriodByPodPriority: '1000=5,0=60' }), [
    { priority: 0, seconds: 60 },
    { priority: 1_000, seconds: 5 },
  ]);
  assert.throws(() => periods({ gracePeriodMs: 5_000, criticalPodsMs: 6_000 }), /must not be more than/);
  assert.throws(() => periods({ gracePeriodMs: 5_000, gracePeriodByPodPriority: '0=1' }), /takes the place of/);
  assert.throws(() => periods({ gracePeriodByPodPriority: 'high=1' }), /not written as priority=seconds/);
});

test('no pod gets more than its own grace period, nor more than that of its group', () => {
  const pods = [
    podUsing('low', { priority: -5, grace: 90 }),
    podUsing('brief', { grace: 3 }),
    podUsing('high', { priority: 1_500 }),
  ];
  const plan = planShutdown(
    pods.map(({ pod }) => pod),
    periods({ gracePeriodByPodPriority: '0=60,1000=5' }),
  );
  assert.deepEqual(
    plan.map((group) => group.pods.map(({ pod, graceSeconds }) => [pod.metadata.name, graceSeconds])),
    [
      [
        ['low', 60],
        ['brief', 3],
      ],
      [['high', 5]],
    ],
  );
});

test('[DISR-32] a shutdown terminates group after group, reports it in every pod, and admits no more', async () => {
  const clock = createVirtualClock();
  const ended: (readonly [string, number, PodFailure])[] = [];
  let begun = 0;
  const pods = [podUsing('critical', { priority: 2_000_000_000 }), podUsing('plain', {}), podUsing('stuck', {})];
  const shutdown = new NodeShutdown({
    periods: periods({ gracePeriodMs: 30_000, criticalPodsMs: 10_000 }),
    pods: () => pods.map(({ pod }) => pod),
    end: async (uid, failure) => {
      ended.push([uid, clock.monotonic() / 1000, failure]);
      await clock.sleep(uid === 'stuck' ? 1_000_000 : 2_000);
    },
    onBegin: () => {
      begun += 1;
    },
    clock,
    log: createSilentLog(),
  });
  assert.equal(shutdown.refusal(), undefined);
  let isOver = false;
  const running = shutdown.run().then(() => {
    isOver = true;
  });
  assert.equal(shutdown.refusal()?.message, 'Pod was rejected: Pod was rejected as the node is shutting down.');
  await clock.advance(21_000);
  assert.equal(isOver, false);
  await clock.advance(2_000);
  await running;
  assert.equal(isOver, true);
  assert.equal(begun, 1);
  assert.deepEqual(
    ended.map(([uid, at]) => [uid, at]),
    [
      ['plain', 0],
      ['stuck', 0],
      ['critical', 20],
    ],
  );
  const message = 'Pod was terminated in response to imminent node shutdown.';
  assert.deepEqual(ended.at(-1)?.[2], { reason: 'Terminated', message, graceSeconds: 10, disruption: message });
});

test('without periods pods keep running', async () => {
  const shutdown = new NodeShutdown({
    periods: [],
    pods: () => assert.fail('nobody is ended'),
    end: () => assert.fail('nobody is ended'),
    onBegin: () => assert.fail('nothing begins'),
    clock: createVirtualClock(),
    log: createSilentLog(),
  });
  await shutdown.run();
  assert.equal(shutdown.hasBegun(), false);
});
