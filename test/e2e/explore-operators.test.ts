import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '@holdfast/cluster/explore';
import { explorePlanted } from '../explore/explore-planted.ts';
import { PLANTED } from '../explore/registry.ts';

/** One plan of the many: `node test/explore/table-main.ts` tries them all. */
const ONLY: Plan = {
  kind: 'crash',
  moment: 'after',
  write: { verb: 'create', resource: 'configmaps', namespace: 'default', name: 'a', nth: 1 },
};

/** A busy machine may stop a program for a while: longer than it usually rests. */
const SETTINGS = { plans: 1, only: ONLY, quietMs: 800 };

test('explore finds what a crash between two writes leaves over, and does not accuse the correct twin', async () => {
  const planted = await explorePlanted('finalizer-after-crash', 'planted', SETTINGS);
  const [accusation] = planted.accusations;
  assert.deepEqual(
    accusation?.findings.map(({ kind, text }) => [kind, text]),
    [['left over', 'core/configmaps/default/a is left over']],
  );
  const correct = await explorePlanted('finalizer-after-crash', 'correct', SETTINGS);
  assert.deepEqual([correct.tried, correct.accusations], [1, []]);
});

test('there are at least twelve planted bugs, each of a class of its own', () => {
  assert.ok(PLANTED.size >= 12);
  assert.equal(new Set([...PLANTED.values()].map(({ bug }) => bug)).size, PLANTED.size);
});
