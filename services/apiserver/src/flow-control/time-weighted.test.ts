import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFlowMetrics } from './flow-metrics.ts';
import { LevelUse } from './level-use.ts';
import { RequestKinds } from './request-kinds.ts';
import { TimeWeighted } from './time-weighted.ts';

const MS = 1e6;

test('each value counts for the nanoseconds that it lasted', () => {
  const use = new TimeWeighted([0, 0.5, 1], 100);
  use.set(0.5, 110);
  use.set(2, 113);
  use.set(0, 114);
  assert.deepEqual(use.read(120), { cumulative: [16 * MS, 19 * MS, 19 * MS, 20 * MS], sum: 3.5 * MS, count: 20 * MS });
  assert.equal(use.read(121).count, 21 * MS);
});

test('a clock that stands still or runs backwards adds nothing', () => {
  const use = new TimeWeighted([1], 5);
  use.set(1, 5);
  use.set(0, 3);
  assert.deepEqual(use.read(3), { cumulative: [0, 0], sum: 0, count: 0 });
});

test('the use of a level is reported against its limits, also without limits', () => {
  const queues = { seatsInUse: 4, executing: 2, waiting: 5, demand: 9 };
  const reading = (seats: number, nominal: number, places: number): readonly number[] => {
    const use = new LevelUse(0);
    use.observe({ queues, seats, nominal, places }, 0);
    return [use.seats, use.executing, use.waiting, use.demand].map((each) => each.read(1).sum / MS);
  };
  assert.deepEqual(reading(8, 3, 50), [0.5, 0.25, 0.1, 3]);
  assert.deepEqual(reading(0, 0, 0), [4, 2, 5, 9]);
});

test('names that come and go leave a bounded number of series', () => {
  const metrics = createFlowMetrics({
    levels: () => [],
    kinds: new RequestKinds(1, 0),
    terminated: () => 0,
    fairFraction: () => 0,
    now: () => 0,
  });
  const busy = metrics.countsOf('busy', 'level');
  busy.executing = 1;
  for (let i = 0; i < 3_000; i++) metrics.countsOf(`schema-${i}`, 'level').executed(1);
  const lines = metrics.render().split('\n');
  assert.equal(lines.filter((line) => line.includes('request_execution_seconds_count')).length, 999);
  assert.equal(metrics.countsOf('busy', 'level'), busy);
  assert.equal(metrics.countsOf('schema-2999', 'level').labels, 'flow_schema="schema-2999",priority_level="level"');
});
