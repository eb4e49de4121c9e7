import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HuntPlan, planOf, type Step } from './plan.ts';
import { shrink } from './shrink.ts';

const step = (what: Step['do'], at: number): Step => ({ at, do: what, target: 'node-1', for: 40 });
const PLAN: HuntPlan = {
  ...planOf(1),
  hasFencer: true,
  apiServers: 2,
  managers: 2,
  schedulers: 2,
  seconds: 200,
  steps: Array.from({ length: 30 }, (_, i) => step(i === 7 ? 'isolate' : i === 21 ? 'drain' : 'pause', i)),
};

test('shrinking drops the steps, processes and time that a failure does not need', async () => {
  const needs = (plan: HuntPlan, what: Step['do']): boolean => plan.steps.some((each) => each.do === what);
  const stillFails = async (plan: HuntPlan): Promise<boolean> => needs(plan, 'isolate') && needs(plan, 'drain');
  const { plan, runs } = await shrink(PLAN, stillFails, 200);
  assert.deepEqual(
    plan.steps.map((each) => [each.do, each.for]),
    [
      ['isolate', 20],
      ['drain', 20],
    ],
  );
  assert.deepEqual([plan.apiServers, plan.schedulers, plan.managers, plan.hasFencer], [1, 1, 1, false]);
  assert.ok(plan.seconds < PLAN.seconds);
  assert.deepEqual(plan.replicas, { db: 0, web: 0, disk: 0 });
  assert.equal(plan.steps[0]?.at, 1, 'the schedule begins at once');
  assert.ok(runs < 100, `${runs} runs`);
});

test('shrinking rounds the times that need not be exact, and keeps the order of the steps', async () => {
  const steps = [step('isolate', 30.123), { ...step('drain', 40.457), for: 1.5 }, step('pause', 44.9)];
  const isExact = (plan: HuntPlan): boolean => plan.steps[1]?.for === 1.5;
  const { plan } = await shrink({ ...PLAN, steps }, async (each) => each.steps.length === 3 && isExact(each), 200);
  assert.deepEqual(
    plan.steps.map(({ at, for: lasts }) => [at, lasts]),
    [
      [1, 20],
      [11.334, 1.5],
      [16, 20],
    ],
  );
});

test('a fully needed plan is kept, and the number of runs is bounded', async () => {
  let runs = 0;
  const result = await shrink(PLAN, async () => (runs++, false), 25);
  assert.equal(result.plan, PLAN);
  assert.equal(runs, 25);
});

test('a plan is derived from its seed alone, kind by kind', () => {
  assert.deepEqual(planOf(7), planOf(7));
  assert.notDeepEqual(planOf(7).steps, planOf(8).steps);
});
