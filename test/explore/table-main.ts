import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describePlan } from '@holdfast/cluster/explore';
import { explorePlanted } from './explore-planted.ts';
import { PLANTED } from './registry.ts';
import { type Row, tableOf, withTable } from './table.ts';

/**
 * Explores every small operator with its planted bug and its correct twin, and writes the table of the results into
 * docs/testing-operators.md. Exit code 1: a bug was not found, or a twin was accused. Arguments: names; default: all.
 */
const PAGE = path.resolve(import.meta.dirname, '../../docs/testing-operators.md');
const PLANS = 30;

const wanted = process.argv.slice(2);
const rows: Row[] = [];
for (const [name, { bug }] of PLANTED) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const planted = await explorePlanted(name, 'planted', { plans: PLANS, untilFirst: true });
  const correct = await explorePlanted(name, 'correct', { plans: PLANS });
  const [found] = planted.accusations;
  const row: Row = {
    name,
    bug,
    foundAt: found === undefined ? undefined : planted.tried,
    plan: found === undefined ? '' : describePlan(found.plan),
    effect: found?.findings[0]?.text ?? '',
    accused: correct.accusations.length,
    tried: correct.tried,
  };
  rows.push(row);
  console.log(JSON.stringify(row));
  for (const { plan, findings } of correct.accusations) {
    console.log(`  accused: ${JSON.stringify(plan)}: ${findings.map(({ text }) => text).join('; ')}`);
  }
}
if (wanted.length === 0) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), tableOf(rows)));
process.exitCode = rows.every(({ foundAt, accused }) => foundAt !== undefined && accused === 0) ? 0 : 1;
