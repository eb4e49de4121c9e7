import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';
import { flagsOf } from './explore.ts';

const STEP = { apply: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'default' } } };

function makeFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-explore-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'workload.yaml');
  writeFileSync(file, text);
  return file;
}

async function exploring(...argv: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const told: string[] = [];
  const note = (line: string): void => void told.push(line);
  const code = await runCommand('explore', argv, { print: note, tell: note, env: {}, clock: createSystemClock() });
  return { code, text: told.join('\n') };
}

test('wrong arguments of explore and wrong workloads are told with the next step', async (t) => {
  const rows = [
    [['--workload', 'x'], 2, /no operator is given\n.*-- /],
    [['--', 'true'], 2, /no workload is given\n.*--workload/],
    [['--workload', '/no/such/file', '--', 'true'], 2, /no\/such\/file cannot be read/],
    [['--workload', makeFile(t, 'steps: []'), '--', 'true'], 2, /the workload has 0 steps/],
    [['--workload', makeFile(t, '{'), '--', 'true'], 2, /cannot be read/],
    [
      ['--workload', makeFile(t, JSON.stringify({ steps: [STEP] })), '--plan', '{', '--', 'true'],
      2,
      /the plan is not JSON/,
    ],
    [
      ['--workload', makeFile(t, JSON.stringify({ steps: [STEP] })), '--plan', '{}', '--', 'true'],
      2,
      /none of explore/,
    ],
    [
      ['--workload', makeFile(t, JSON.stringify({ steps: [STEP] })), '--controllers=*,-deploy', '--', 'true'],
      2,
      /no controller named -deploy\n.*deployment/,
    ],
  ] as const;
  for (const [argv, code, pattern] of rows) {
    const result = await exploring(...argv);
    assert.equal(result.code, code, argv.join(' '));
    assert.match(result.text, pattern);
  }
  assert.match((await exploring('--help')).text, /--quiet-ms/);
});

test('an operator that never starts, or that the machine does not have, is told in one sentence', async (t) => {
  const file = makeFile(t, JSON.stringify({ steps: [STEP] }));
  const flags = ['--workload', file, '--hollow-nodes', '0', '--quiet-ms', '50'];
  const silent = await exploring(
    ...flags,
    '--start-seconds',
    '1',
    '--',
    process.execPath,
    '-e',
    'setInterval(() => {}, 1000)',
  );
  assert.equal(silent.code, 1);
  assert.match(silent.text, /the operator sent no request within 1 s\n.*KUBECONFIG/);
  const ending = await exploring(
    ...flags,
    '--',
    process.execPath,
    '-e',
    'console.log("no such flag"); process.exit(3)',
  );
  assert.match(ending.text, /the operator ended with code 3\n.*printed:\n\s*no such flag/);
  const absent = await exploring(...flags, '--', '/no/such/operator');
  assert.equal(absent.code, 127);
  assert.match(absent.text, /cannot be started/);
  const unknown = makeFile(t, JSON.stringify({ steps: [STEP], setup: [{ ...STEP.apply, kind: 'Nothing' }] }));
  assert.match((await exploring('--workload', unknown, '--', 'true')).text, /no kind Nothing of v1\n.*setup/);
});

test('the line that repeats a finding has no earlier plan, in either form', () => {
  const given = ['-w', 'file', '--plan={"a":1}', '--seed', '2', '--plan', '{}', '--', 'run', '--plan', 'x'];
  assert.deepEqual(flagsOf(given, ['run', '--plan', 'x']), ['-w', 'file', '--seed', '2']);
});
