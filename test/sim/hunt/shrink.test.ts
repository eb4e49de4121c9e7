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
  assert.ok(runs < 100, `${runs} runs`);
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
