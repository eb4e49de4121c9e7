import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScenario } from '../../scenario/parse.ts';
import { scenarioOf } from '../../scenario/plans.ts';
import { printScenario } from '../../scenario/print.ts';
import { planOf } from '../../sim/hunt/plan.ts';
import { canContainers } from './actions.ts';
import { fitForContainers } from './fit.ts';
import { refusalsOf } from './refusals.ts';

test('whatever the hunt draws, what is left of it for containers is not refused by them', () => {
  let steps = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const plan = fitForContainers(planOf(seed), canContainers);
    const scenario = parseScenario(printScenario(scenarioOf(plan, { name: 'drawn' })));
    assert.deepEqual(refusalsOf(scenario), [], String(seed));
    steps += plan.steps.length;
  }
  assert.ok(steps > 300, `${steps} steps are left`);
});
