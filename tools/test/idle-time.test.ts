import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { type Lane, spawnInLane, turnsOf, withIdleLane, withoutIdleTime } from './idle-time.ts';
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

test('while a suite has no idle time, what runs in it stands still, with its children', async (t) => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-idle-'));
  t.after(() => rmSync(scratch, { recursive: true }));
  const code = "require('node:child_process').spawn('sleep', ['1000']); setInterval(() => {}, 1000)";
  const states = (pid: number): readonly string[] =>
    execFileSync('ps', ['-A', '-o', 'pgid=,stat='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .flatMap(([group, state = '']) => (group === String(pid) ? [state.charAt(0)] : []))
      .toSorted();
  await withIdleLane(
    path.join(scratch, 'sim.log'),
    async (lane) => {
      const child = spawnInLane(['-e', code], lane, { cwd: scratch, env: {} });
      const pid = child.pid ?? 0;
      t.after(() => process.kill(-pid, 'SIGKILL'));
      const stand = (state: string) =>
        eventually(() => states(pid).join('') === state.repeat(2), `both are ${state}`, { pollMs: 20 });
      await stand('S');
      await withoutIdleTime(() => stand('T'));
      await stand('S');
    },
    () => {},
  );
});
