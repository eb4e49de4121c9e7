import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { type Lane, spawnInLane, turnsOf, withIdleLane } from './idle-time.ts';
import type { Suite } from './suites.ts';

const chosen = (name: string, inIdleTimeOf?: string) => {
  const suite: Suite = { name, files: [], concurrency: 1, timeoutSecondsPerTest: 1 };
  return { suite: inIdleTimeOf === undefined ? suite : { ...suite, inIdleTimeOf }, files: [] };
};

test('a suite starts beside its partner, and alone when that is not chosen', () => {
  const turns = (...suites: readonly ReturnType<typeof chosen>[]): readonly string[] =>
    turnsOf(suites).map(({ suite, beside }) => [suite, ...beside].map(({ suite: { name } }) => name).join('+'));
  const sim = chosen('sim', 'chaos');
  assert.deepEqual(turns(chosen('unit'), sim, chosen('chaos')), ['unit', 'chaos+sim']);
  assert.deepEqual(turns(chosen('unit'), sim), ['unit', 'sim']);
});

test('in the idle time of another suite the lowest priority counts, and output is printed at the end', async (t) => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-idle-'));
  t.after(() => rmSync(scratch, { recursive: true }));
  const printed: string[] = [];
  const code = "setTimeout(() => console.log('priority', require('node:os').getPriority()), 300)";
  const run = async (lane: Lane): Promise<void> => {
    await once(spawnInLane(['-e', code], lane, { cwd: scratch, env: {} }), 'exit');
    assert.deepEqual(printed, []);
  };
  await withIdleLane(path.join(scratch, 'sim.log'), run, (output) => printed.push(String(output)));
  assert.deepEqual(printed, ['priority 19\n']);
});
