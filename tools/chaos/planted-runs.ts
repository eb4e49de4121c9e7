import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { harmOf } from '../../test/chaos/planted/container-bugs.ts';
import type { Played } from './files.ts';
import { type PlantedRun, renderPlantedRuns } from './planted-table.ts';

const root = path.resolve(import.meta.dirname, '../..');
export const RESULTS = path.join(root, 'tools/chaos/planted-results.json');
export const TABLE = path.join(root, 'docs/internals/planted-on-containers.md');

/** Notes the files of the suite of planted bugs that were played both ways, and rewrites the table. Others stay in it. */
export function notePlantedRuns(played: readonly Played[]): void {
  const known: readonly PlantedRun[] = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : [];
  const runs = new Map(known.map((run) => [run.file, run]));
  for (const { name, bugs, verdict, isOfSuite } of played) {
    const without = played.find((each) => each.name === name && each.bugs.length === 0)?.verdict;
    const [bug] = bugs;
    if (bug === undefined || verdict === undefined || without === undefined || !isOfSuite) continue;
    runs.set(name, { file: name, bug, broken: verdict.broken.map(firstLine), without: without.broken.map(firstLine) });
  }
  const rows = [...runs.values()].toSorted((a, b) => a.file.localeCompare(b.file));
  writeFileSync(RESULTS, `${JSON.stringify(rows, undefined, 2)}\n`);
  spawnSync(path.join(root, 'node_modules/.bin/biome'), ['format', '--write', RESULTS], { cwd: root });
  writeFileSync(TABLE, renderPlantedRuns(rows, harmOf));
}

const firstLine = (text: string): string => text.split('\n')[0] ?? '';
