import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { countedAgainst } from '../../scenario/control.ts';
import { readScenario } from '../../scenario/files.ts';
import { playScenario } from './play.ts';
import { RECOVERY_RULE } from './recovery.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../chaos/scenarios');
const filesOf = (pattern: string): readonly string[] => globSync(pattern, { cwd: FOLDER }).toSorted();
/** Files of many faults, for a measurement on containers: minutes of CPU each. */
const CAMPAIGNS = new Set(['zones/cuts.yaml', 'zones/kills.yaml']);
const FILES = filesOf('{*,zones/*}.yaml').filter((file) => !CAMPAIGNS.has(file));

test('there are scenario files', () => {
  assert.ok(FILES.length >= 8);
});

for (const file of FILES) {
  test(`[TEST-01] the scenario ${file} holds on virtual time`, async () => {
    const { violation } = await playScenario(readScenario(path.join(FOLDER, file)));
    assert.equal(violation, undefined, violation?.story);
  });
}

for (const file of filesOf('controls/*.yaml')) {
  test(`[TEST-07] the control ${file} is found broken on virtual time`, async () => {
    const scenario = readScenario(path.join(FOLDER, file));
    const { violation } = await playScenario(scenario);
    assert.deepEqual(countedAgainst(scenario, violation === undefined ? [] : [violation.story]), []);
  });
}

test('[TEST-07] a recovery that takes longer than the file says is found', async () => {
  const scenario = readScenario(path.join(FOLDER, 'isolate-node.yaml'));
  const form = { ...scenario.form, selfFencing: false };
  const { violation } = await playScenario({ ...scenario, form });
  assert.equal(violation?.rule, RECOVERY_RULE, violation?.story);
});
