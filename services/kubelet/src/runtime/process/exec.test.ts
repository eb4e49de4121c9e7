import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { containerConfig, eventually, sandboxConfig } from '../contract.ts';
import type { ExecResult } from '../port.ts';
import { execIn } from './exec.ts';
import { createProcessTable } from './process-table.ts';
import { sendSignal } from './send-signal.ts';

const TIMEOUT_MS = 1_000;

function scene(t: TestContext) {
  const workPath = mkdtempSync(join(tmpdir(), 'holdfast-exec-'));
  const containerId = `exec-test-${workPath.slice(-6)}`;
  const processes = () =>
    createProcessTable()
      .scan()
      .filter(({ marker }) => marker === containerId);
  t.after(() => {
    for (const { pid } of processes()) sendSignal(pid, 'SIGKILL');
    rmSync(workPath, { recursive: true, force: true });
  });
  const run = (clock: Clock, script: string): Promise<ExecResult> =>
    execIn(clock, {
      containerId,
      config: containerConfig(['/bin/sh', '-c', script]),
      sandbox: sandboxConfig('u1'),
      workPath,
      leader: 0,
      timeoutMs: TIMEOUT_MS,
    });
  return { run, processes };
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

test('the output of a probe is complete also when it arrives after the exit', async (t) => {
  const { run } = scene(t);
  // Nothing is given up: the clock stands.
  assert.deepEqual(await run(createVirtualClock(), '(sleep 0.2; echo late; echo error >&2) & echo early; exit 3'), {
    exitCode: 3,
    output: 'early\nlate\nerror\n',
  });
});

test('what a probe leaves behind neither delays its answer for long nor keeps descriptors of the node', async (t) => {
  const { run, processes } = scene(t);
  const before = descriptors();
  assert.deepEqual(await run(createSystemClock(), 'sleep 600 & echo done'), { exitCode: 0, output: 'done\n' });
  await eventually(() => descriptors() <= before, 'the pipes are closed');
  assert.equal(processes().length, 1);
});

test('a probe that takes too long keeps no descriptors, whatever it has started', async (t) => {
  const { run, processes } = scene(t);
  const before = descriptors();
  const clock = createVirtualClock();
  const timedOut = assert.rejects(run(clock, 'setsid sleep 600 & sleep 600'), /timed out/);
  const sessions = () => new Set(processes().map(({ session }) => session));
  await eventually(() => processes().length === 3 && sessions().size === 2, 'all run');
  await clock.advance(TIMEOUT_MS);
  await timedOut;
  await eventually(() => descriptors() <= before, 'the pipes are closed');
  await eventually(() => processes().length === 1, 'what left the group ends with the container');
});
