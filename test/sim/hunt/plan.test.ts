import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DELAYS } from './kinds.ts';
import { isCalm, planOf } from './plan.ts';

const SEEDS = Array.from({ length: 200 }, (_, i) => i + 1);

test('a plan follows from its seed, and its steps come in the order of time', () => {
  for (const seed of SEEDS) {
    const plan = planOf(seed);
    assert.deepEqual(planOf(seed), plan);
    const times = plan.steps.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.every((at) => at >= 0 && at <= plan.seconds));
  }
});

test('users meet an application at one moment while something delays what others hear', () => {
  const plans = SEEDS.map((seed) => planOf(seed));
  const meets = plans.filter(({ steps }) =>
    steps.some(
      ({ do: kind, at, for: lasts = 0 }) =>
        DELAYS.has(kind) &&
        steps.filter((step) => !DELAYS.has(step.do) && step.at > at && step.at < at + lasts).length > 3,
    ),
  );
  assert.ok(meets.length * 2 > plans.length, `${meets.length} of ${plans.length} plans`);
  assert.ok(plans.filter(isCalm).length * 6 > plans.length, 'some plans delay nothing');
});

test('users do after a moment what people do because of it', () => {
  const deletions = SEEDS.flatMap((seed) => planOf(seed).steps).filter((step) => step.do === 'delete-node');
  const because = deletions.filter(({ when }) => when === 'node-lost');
  assert.ok(because.length * 4 > deletions.length, `${because.length} of ${deletions.length} deletions`);
  assert.ok(because.length < deletions.length, 'others come at any time');
});
