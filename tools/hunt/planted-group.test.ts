import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundBy } from '../../test/sim/hunt/hunter.ts';
import { planOf } from '../../test/sim/hunt/plan.ts';
import { Group } from './planted-group.ts';
import type { Hunted } from './planted-table.ts';
import type { runWorker, Work } from './worker.ts';

/** Results in memory. */
function resultsOf(known: Readonly<Record<string, Hunted>> = {}) {
  const rows = new Map(Object.entries(known));
  return {
    rows,
    of: (name: string) => rows.get(name),
    keep: (name: string, hunted: Hunted) => void rows.set(name, hunted),
  };
}

/** A worker that finds a bug in the seed that the table names. */
function workerFor(findsIn: Readonly<Record<string, number>>, played: string[]): typeof runWorker {
  return async ({ args: [first = '', count = ''], planted = '' }: Work, told) => {
    for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
      const rule = planted.split(',').find((name) => findsIn[name] === seed);
      const scenario = rule === undefined ? undefined : foundBy(planOf(seed), { rule, story: '' });
      played.push(`${planted} ${seed}`);
      told(JSON.stringify({ begins: foundBy(planOf(seed), undefined) }));
      told(JSON.stringify({ seed, cpuMs: 1000, scenario }));
      if (scenario !== undefined) return undefined;
    }
    return undefined;
  };
}

const RUNNING = new AbortController().signal;
const LIMITS = { from: 1, seeds: 4, minutes: 1 };

test('bugs that are planted together are told apart by seeds that are played with each alone', async () => {
  const results = resultsOf();
  const played: string[] = [];
  const run = workerFor({ easy: 2, hard: 4 }, played);
  await new Group(['easy', 'hard'], { ...LIMITS, results, run }).hunt(RUNNING);
  assert.deepEqual(played, [
    'easy,hard 1',
    'easy,hard 2',
    'easy 2',
    ' 2',
    'hard 2',
    'hard 3',
    'hard 4',
    'hard 4',
    ' 4',
  ]);
  assert.deepEqual(
    [...results.rows].map(([name, { rule, seeds }]) => [name, rule, seeds]),
    [
      ['easy', 'easy', 2],
      ['hard', 'hard', 4],
    ],
  );
});

test('a hunt that goes on keeps what was found, and records nothing that it has not played', async () => {
  const results = resultsOf({
    found: { from: 1, seeds: 3, cpuSeconds: 9, rule: 'r' },
    ahead: { from: 1, seeds: 2, cpuSeconds: 2 },
  });
  const played: string[] = [];
  const run = workerFor({}, played);
  const names = ['found', 'ahead', 'new'];
  await new Group(names, { ...LIMITS, results, run }).hunt(AbortSignal.abort());
  assert.deepEqual([[...results.rows.keys()], played], [['found', 'ahead'], []]);
  await new Group(names, { ...LIMITS, results, run }).hunt(RUNNING);
  assert.deepEqual(results.of('found'), { from: 1, seeds: 3, cpuSeconds: 9, rule: 'r' });
  assert.deepEqual([results.of('ahead')?.seeds, results.of('new')?.seeds], [4, 4]);
});

test('a seed that breaks a rule without the bug as well is no find, and is told', async () => {
  const results = resultsOf();
  const told: string[] = [];
  // Nothing is planted in the seed that the empty name finds.
  const run = workerFor({ first: 2, second: 2, '': 2 }, []);
  await new Group(['first', 'second'], { ...LIMITS, results, run, say: (line) => void told.push(line) }).hunt(RUNNING);
  assert.deepEqual(
    [...results.rows].map(([name, { rule, seeds }]) => [name, rule, seeds]),
    [
      ['first', undefined, 4],
      ['second', undefined, 4],
    ],
  );
  assert.deepEqual(told, ['seed 2 breaks a rule without a planted bug: ']);
});
