import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { harmOf } from '../../test/chaos/planted/container-bugs.ts';
import { editsNamed } from '../../test/chaos/planted/sources.ts';
import { refusalsOf } from '../../test/chaos/play/refusals.ts';
import { readScenario } from '../../test/scenario/files.ts';
import { RESULTS, TABLE } from './planted-runs.ts';
import { isShown, type PlantedRun, renderPlantedRuns } from './planted-table.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../test/chaos/scenarios/planted');
const FILES = globSync('*.yaml', { cwd: FOLDER }).toSorted();
const runs = JSON.parse(readFileSync(RESULTS, 'utf8')) as readonly PlantedRun[];

test('each schedule of a planted bug names a bug that containers can have, and steps that they can do', () => {
  assert.ok(FILES.length >= 10);
  for (const file of FILES) {
    const scenario = readScenario(path.join(FOLDER, file));
    assert.deepEqual(refusalsOf(scenario), [], file);
    assert.ok(editsNamed(scenario.found?.planted ?? '').length > 0, file);
  }
});

test('the table says which of them are shown failing on containers with the bug and passing without', () => {
  assert.deepEqual(
    runs.map(({ file }) => file).filter((file) => !FILES.includes(file)),
    [],
  );
  assert.ok(runs.filter(isShown).length >= 11);
  assert.equal(readFileSync(TABLE, 'utf8'), renderPlantedRuns(runs, harmOf));
});
