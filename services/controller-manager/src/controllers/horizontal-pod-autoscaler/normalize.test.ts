import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HorizontalPodAutoscalerBehavior, HPAScalingPolicy } from '@holdfast/api';
import fc from 'fast-check';
import { firstMemory, type Memory, withScaleEvent } from './memory.ts';
import { type Normalized, normalize } from './normalize.ts';

const policy = (type: string, value: number, periodSeconds = 60): HPAScalingPolicy => ({ type, value, periodSeconds });

interface Limits {
  readonly min: number;
  readonly max: number;
}

/** One autoscaler over time: each evaluation may change the number of pods. */
class Run {
  memory: Memory | undefined;
  nowMs = 0;
  current: number;
  readonly limits: Limits;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;

  constructor(current: number, limits: Limits, behavior?: HorizontalPodAutoscalerBehavior) {
    this.current = current;
    this.limits = limits;
    this.behavior = behavior;
  }

  look(desired: number, afterSeconds = 15): Normalized {
    this.nowMs += afterSeconds * 1000;
    const memory = this.memory ?? firstMemory(this.current, this.nowMs);
    const { current, behavior, nowMs } = this;
    const wish = { current, desired, ...this.limits, behavior, nowMs, downscaleStabilizationMs: 300_000 };
    const result = normalize(wish, memory);
    this.memory = withScaleEvent(result.memory, { from: current, to: result.replicas, atMs: nowMs }, behavior);
    this.current = result.replicas;
    return result;
  }
}

test('without a behavior the size at most doubles, or grows to four', () => {
  const run = new Run(1, { min: 1, max: 100 });
  const first = run.look(50);
  assert.deepEqual([first.replicas, first.limited.status, first.limited.reason], [4, 'True', 'ScaleUpLimit']);
  assert.equal(run.look(50).replicas, 8);
  const bounded = new Run(8, { min: 1, max: 10 }).look(50);
  assert.deepEqual([bounded.replicas, bounded.limited.reason], [10, 'TooManyReplicas']);
});

test('pods are removed after five minutes without demand', () => {
  const run = new Run(6, { min: 2, max: 10 });
  const first = run.look(1);
  assert.deepEqual([first.replicas, first.stabilized.reason], [6, 'ScaleDownStabilized']);
  for (let seconds = 15; seconds < 300; seconds += 15) assert.equal(run.look(1).replicas, 6);
  const last = run.look(1);
  assert.deepEqual([last.replicas, last.limited.status, last.limited.reason], [2, 'True', 'TooFewReplicas']);
  assert.equal(run.look(2).stabilized.reason, 'ReadyForNewScale');
});

test('policies define the rate: by count or percentage, maximum or minimum of them, or none', () => {
  const policies = [policy('Pods', 2), policy('Percent', 50)];
  const limits = { min: 1, max: 100 };
  const up = (selectPolicy: string): Run => new Run(10, limits, { scaleUp: { selectPolicy, policies } });
  assert.equal(up('Max').look(100).replicas, 15);
  assert.equal(up('Min').look(100).replicas, 12);
  assert.equal(up('Disabled').look(100).replicas, 10);
  const now = { stabilizationWindowSeconds: 0 };
  const down = (selectPolicy: string): Run => new Run(10, limits, { scaleDown: { ...now, selectPolicy, policies } });
  const least = down('Max').look(1);
  assert.deepEqual([least.replicas, least.limited.reason], [5, 'ScaleDownLimit']);
  assert.equal(down('Min').look(1).replicas, 8);
  assert.equal(down('Disabled').look(1).replicas, 10);
});

test('changes within the period of a policy count', () => {
  const run = new Run(10, { min: 1, max: 100 }, { scaleUp: { selectPolicy: 'Max', policies: [policy('Pods', 5)] } });
  assert.equal(run.look(100).replicas, 15);
  assert.equal(run.look(100).replicas, 15);
  assert.equal(run.look(100, 50).replicas, 20);
});

test('a stabilization window delays scale-up too', () => {
  const behavior = {
    scaleUp: { stabilizationWindowSeconds: 60, selectPolicy: 'Max', policies: [policy('Percent', 900)] },
  };
  const run = new Run(2, { min: 1, max: 100 }, behavior);
  assert.deepEqual([run.look(9).replicas, run.look(8).stabilized.reason], [2, 'ScaleUpStabilized']);
  run.look(9);
  run.look(9);
  assert.equal(run.look(9, 16).replicas, 8, 'the least that was asked for within the last minute');
});

const count = fc.integer({ min: 1, max: 200 });
const windows = fc.constantFrom(0, 30, 300);
const rules = fc.record({
  stabilizationWindowSeconds: windows,
  selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
  policies: fc.array(
    fc.record({
      type: fc.constantFrom('Pods', 'Percent'),
      value: fc.integer({ min: 1, max: 200 }),
      periodSeconds: fc.integer({ min: 1, max: 300 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
const behaviors = fc.option(fc.record({ scaleUp: rules, scaleDown: rules }), { nil: undefined });

test('any recommendations, in any order, stay within the bounds', () => {
  fc.assert(
    fc.property(count, count, behaviors, fc.array(count, { maxLength: 40 }), (a, b, behavior, wishes) => {
      const limits = { min: Math.min(a, b), max: Math.max(a, b) };
      const run = new Run(limits.min, limits, behavior);
      for (const wish of wishes) {
        const { replicas, limited } = run.look(wish);
        assert.ok(replicas >= limits.min && replicas <= limits.max);
        if (limited.status === 'False') assert.equal(limited.reason, 'DesiredWithinRange');
      }
    }),
  );
});

test('with any recommendations: no replica recommended within the window is removed, so the size does not oscillate', () => {
  fc.assert(
    fc.property(count, behaviors, fc.array(count, { minLength: 1, maxLength: 60 }), (start, behavior, wishes) => {
      const windowSeconds = behavior?.scaleDown.stabilizationWindowSeconds ?? 300;
      const run = new Run(start, { min: 1, max: 200 }, behavior);
      const asked: { readonly wish: number; readonly atMs: number }[] = [];
      for (const wish of wishes) {
        const before = run.current;
        const { replicas } = run.look(wish);
        asked.push({ wish, atMs: run.nowMs });
        if (replicas >= before) continue;
        const recent = asked.filter(({ atMs }) => atMs > run.nowMs - windowSeconds * 1000).map((each) => each.wish);
        assert.ok(replicas >= Math.max(...recent));
      }
    }),
  );
});

test('with any policies: the allowed change of a direction in its longest period is not exceeded', () => {
  fc.assert(
    fc.property(count, fc.integer({ min: 1, max: 10 }), fc.array(count, { maxLength: 40 }), (start, step, wishes) => {
      const scaleUp = { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [policy('Pods', step)] };
      const run = new Run(
        start,
        { min: 1, max: 400 },
        { scaleUp, scaleDown: { selectPolicy: 'Disabled', policies: [] } },
      );
      const sizes: { readonly size: number; readonly atMs: number }[] = [{ size: start, atMs: 0 }];
      for (const wish of wishes) {
        run.look(wish);
        const [first] = sizes.filter(({ atMs }) => atMs > run.nowMs - 60_000);
        if (first !== undefined) assert.ok(run.current - first.size <= step);
        sizes.push({ size: run.current, atMs: run.nowMs });
      }
    }),
  );
});
