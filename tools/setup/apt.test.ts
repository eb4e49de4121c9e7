import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { runApt } from './apt.ts';

/** An apt-get that fails with these complaints, one a call, and then works; it notes what it is called with. */
function aptThatFails(t: TestContext, complaints: readonly string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-apt-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const notes = path.join(folder, 'calls');
  writeFileSync(path.join(folder, 'complaints'), complaints.map((each) => `${each}\n`).join(''));
  const program = path.join(folder, 'apt-get');
  writeFileSync(
    program,
    `#!/bin/sh
cd "$(dirname "$0")" && echo "$LC_ALL $*" >> calls
complaint=$(sed -n "$(wc -l < calls)p" complaints)
[ "$complaint" = "" ] || [ "$complaint" = works ] || { echo "$complaint" >&2; exit 100; }
`,
  );
  chmodSync(program, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  return {
    run: () => runApt([['update'], ['install', 'x']], { byHand: 'Install x.', env, pauseMs: 1 }),
    calls: () => readFileSync(notes, 'utf8').trim().split('\n'),
  };
}

test('apt waits for the lock of another process, and a failed step is retried from the first one', (t) => {
  const { run, calls } = aptThatFails(t, ['works', 'E: Unable to locate package x', 'E: no route']);
  run();
  const patience = 'C -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3';
  assert.deepEqual(
    calls(),
    ['update', 'install x', 'update', 'update', 'install x'].map((step) => `${patience} ${step}`),
  );
});

test('a permanent failure is reported with its own message, and the next step', (t) => {
  const { run, calls } = aptThatFails(t, ['E: no route', 'E: no route', 'E: no such host', 'works']);
  assert.throws(run, /^Error: apt-get failed 3 times: update: E: no such host\. Install x\.$/);
  assert.equal(calls().length, 3);
});

test('another process that holds the package lists is waited for longer, because apt itself does not', (t) => {
  const lists = 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)';
  const { run, calls } = aptThatFails(t, [lists, lists, lists, lists, lists]);
  run();
  assert.equal(calls().length, 7);
});
