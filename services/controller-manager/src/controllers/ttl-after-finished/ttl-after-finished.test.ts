import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JOBS, type Job } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { formatTime, parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import { job } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { timeToLiveMs } from './decide.ts';
import { ttlAfterFinishedController } from './index.ts';

const TASK = { namespace: 'default', name: 'task' };
const ended = (type: string): Job['status'] => ({
  conditions: [{ type, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
});

function worldWith(object: Job): { readonly world: World; readonly controller: DrivenController } {
  const world = createWorld();
  world.api.put(JOBS, object);
  return { world, controller: new DrivenController(world, ttlAfterFinishedController) };
}

for (const type of ['Complete', 'Failed']) {
  test(`a Job that is ${type} is deleted when its TTL has expired, not earlier, with its pods`, async () => {
    const { world, controller } = worldWith({ ...job({ ttlSecondsAfterFinished: 30 }), status: ended(type) });
    world.clock.skip(29_999);
    await controller.settle();
    assert.ok(world.api.find(JOBS, TASK));
    world.clock.skip(1);
    await controller.settle();
    assert.equal(world.api.writes.at(-1)?.request?.propagationPolicy, 'Foreground');
    assert.ok(world.api.get(JOBS, TASK).metadata.deletionTimestamp);
  });
}

test('a running Job, or one without a TTL, stays', async () => {
  for (const object of [
    job({ ttlSecondsAfterFinished: 0 }),
    { ...job(), status: ended('Complete') },
    { ...job({ ttlSecondsAfterFinished: 0 }), status: ended('Suspended') },
  ]) {
    const { world, controller } = worldWith(object);
    world.clock.skip(3_600_000);
    await controller.settle();
    assert.deepEqual(world.api.writes, []);
  }
});

test('an extended TTL is respected even while the cache does not show it', async () => {
  const { world, controller } = worldWith({ ...job({ ttlSecondsAfterFinished: 30 }), status: ended('Complete') });
  await controller.settle();
  world.api.cache(JOBS).freeze();
  const old = world.api.get(JOBS, TASK);
  world.api.put(JOBS, { ...old, spec: { ...old.spec, ttlSecondsAfterFinished: 600 } });
  world.clock.skip(60_000);
  await controller.settle();
  assert.equal(world.api.get(JOBS, TASK).metadata.deletionTimestamp, undefined);
  world.api.cache(JOBS).thaw();
  world.clock.skip(540_000);
  await controller.settle();
  assert.ok(world.api.get(JOBS, TASK).metadata.deletionTimestamp);
});

test('a deletion without an answer is repeated', async () => {
  const { world, controller } = worldWith({ ...job({ ttlSecondsAfterFinished: 0 }), status: ended('Complete') });
  let lost = 0;
  world.api.beforeWrite = () => {
    if (lost++ === 0) throw new TransportError('no answer');
  };
  await controller.settle();
  assert.ok(world.api.get(JOBS, TASK).metadata.deletionTimestamp);
});

const condition = fc.record({
  type: fc.constantFrom('Complete', 'Failed', 'Suspended', 'FailureTarget', 'SuccessCriteriaMet'),
  status: fc.constantFrom('True', 'False'),
});
const life = fc.record({
  conditions: fc.uniqueArray(condition, { selector: ({ type }) => type }),
  ttl: fc.option(fc.nat(10_000), { nil: undefined }),
  terminating: fc.boolean(),
  endedSecond: fc.nat(1_000_000),
  waitedMs: fc.nat(20_000_000),
});

test('with any history of a Job: only an ended Job with a TTL is deleted, never too early, and never twice', () => {
  const start = parseTime('2026-01-01T00:00:00Z') ?? 0;
  fc.assert(
    fc.property(life, ({ conditions, ttl, terminating, endedSecond, waitedMs }) => {
      const endedAt = start + endedSecond * 1_000;
      const marks = conditions.map((each) => ({ ...each, lastTransitionTime: formatTime(endedAt) }));
      const metadata = terminating ? { deletionTimestamp: formatTime(start) } : {};
      const spec = ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl };
      const at = (now: number, some = marks): number | undefined =>
        timeToLiveMs({ ...job(spec, metadata), status: { conditions: some } }, now);
      const left = at(endedAt + waitedMs);
      const ends = conditions.filter(({ type }) => type === 'Complete' || type === 'Failed');
      const hasEnded = ends.some(({ status }) => status === 'True');
      assert.equal(left, hasEnded && ttl !== undefined && !terminating ? ttl * 1_000 - waitedMs : undefined);
      assert.equal(at(endedAt + waitedMs, marks.toReversed()), left, 'in whatever order the conditions are');
      // After exactly this wait the Job is due, and not earlier.
      if (left === undefined) return;
      assert.equal(at(endedAt + waitedMs + left), 0);
      assert.equal(at(endedAt + waitedMs + left - 1), 1);
    }),
  );
});
