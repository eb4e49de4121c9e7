import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LossPlan } from './plan.ts';
import { runLosses } from './run.ts';

/** How long it takes is measured by `npm run chaos`, on a machine that does nothing else. */
test('[SAFE-22] [TEST-01] [TEST-07] with default settings the identities of a node that loses its network run elsewhere, and never twice; a database on the nodes loses nothing', async (t) => {
  const report = await runLosses('holdfast-chaos-losses', {
    plan: new LossPlan(1, ['isolate']),
    losses: 1,
    planted: [],
    hasDatabase: true,
    minutes: 5,
    say: (line) => t.diagnostic(line),
  });
  assert.ok(report.recoveries.length > 0);
  assert.deepEqual(
    report.recoveries.filter(({ ms }) => ms === undefined),
    [],
    'not recovered',
  );
  assert.deepEqual([...report.overlaps, ...report.damage, ...report.surprises], []);
  assert.deepEqual(report.database.broken, []);
  t.diagnostic(report.database.facts);
  assert.ok(report.beats > 0 && report.records > 0, 'the judge has something to judge');
});
