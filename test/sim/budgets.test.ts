import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBudgetScenario } from './budget-scenario.ts';

/** Without the count in the eviction, half of the seeds find a violation. */
const SEEDS = 8;

test('[DISR-08] evictions during deletions, rollouts and lost nodes never leave fewer pods than their budget requires', async () => {
  let granted = 0;
  let refused = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = await runBudgetScenario(seed);
    assert.deepEqual(run.violations, [], `seed ${seed}`);
    granted += run.granted;
    refused += run.refused;
  }
  assert.ok(granted > SEEDS && refused > SEEDS, `${granted} granted, ${refused} refused: both are tried`);
});
