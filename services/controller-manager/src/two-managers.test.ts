import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MortalManager, RivalManagers } from './testing/mortal-manager.ts';
import { CONTROLLERS, effortOf, endOf, SCENARIOS } from './testing/scenarios.ts';

const SEEDS = 12;

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  test(`[TEST-04] two active managers on stale caches: the final state is the same and nothing is done twice: ${name}`, async () => {
    const calm = new MortalManager(CONTROLLERS);
    await scenario(calm);
    const [end, effort] = [endOf(calm), effortOf(calm)];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const rivals = new RivalManagers(CONTROLLERS, seed);
      await scenario(rivals);
      assert.deepEqual(endOf(rivals), end, `seed ${seed}`);
      assert.deepEqual(effortOf(rivals), effort, `seed ${seed}`);
    }
  });
}
