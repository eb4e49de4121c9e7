import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MortalManager } from './testing/mortal-manager.ts';
import { CONTROLLERS, effortOf, endOf, SCENARIOS } from './testing/scenarios.ts';

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  test(`[TEST-06] killed before or after each of its writes, the final state is the same and nothing is done twice: ${name}`, async () => {
    const calm = new MortalManager(CONTROLLERS);
    await scenario(calm);
    const [end, effort] = [endOf(calm), effortOf(calm)];
    assert.ok(calm.writes > 0);
    for (let write = 1; write <= calm.writes; write++) {
      for (const counts of [false, true]) {
        const manager = new MortalManager(CONTROLLERS, { write, counts });
        await scenario(manager);
        const where = `${counts ? 'after' : 'before'} write ${write} of ${calm.writes}`;
        assert.deepEqual(endOf(manager), end, where);
        assert.deepEqual(effortOf(manager), effort, where);
      }
    }
  });
}

test('the same input gives the same writes in the same order', async () => {
  const trace = async (): Promise<readonly string[]> => {
    const writes: string[] = [];
    for (const scenario of Object.values(SCENARIOS)) {
      const manager = new MortalManager(CONTROLLERS);
      await scenario(manager);
      for (const { identity, verb, resource, key } of manager.world.api.writes) {
        writes.push(`${identity} ${verb} ${resource} ${key}`);
      }
    }
    return writes;
  };
  assert.deepEqual(await trace(), await trace());
});
