import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { runCommandLine } from './run.ts';

async function run(typed: string) {
  const written: string[] = [];
  const stream = { isTTY: false, write: (text: string) => written.push(text) };
  const env = { XDG_STATE_HOME: '/no/such' };
  const deps = { output: stream, errors: stream, env, clock: createSystemClock() };
  const code = await runCommandLine(typed.split(' '), deps);
  return { code, text: written.join('').trimEnd() };
}

test('a mistake is told in one sentence, and the next step names what was probably meant', async () => {
  const mistakes: Readonly<Record<string, RegExp>> = {
    hist: /unknown command "hist"\n {2}Do you mean `history`\?/,
    lsit: /Do you mean `list`\?/,
    logs: /Use kubectl for it: `kubectl logs`/,
    wash: /Use one of start, up, down/,
    'up --naem x': /unknown option '--naem'\n {2}Do you mean --name\?/,
    'doctor web': /doctor does not know "web"/,
    'get pods --kubeconfig /no/such':
      /\/no\/such cannot be read\n {2}Start a cluster with .* `holdfast status` names that of `up`\./,
    'restore /dev/null': /\/dev\/null is no backup, or a damaged one: it is empty/,
    'restore /etc/hostname': /is no backup, or a damaged one: it does not begin like one/,
  };
  for (const [typed, says] of Object.entries(mistakes)) {
    const { code, text } = await run(typed);
    assert.equal(code, 2, typed);
    assert.match(text, says);
    assert.match(text, /^holdfast: .+\n {2}\S.+$/);
  }
});

test('help of a command is its help', async () => {
  const { code, text } = await run('help down');
  assert.equal(code, 0);
  assert.match(text, /^holdfast down \[--name NAME \| --all\]\n[^]*Example: holdfast down --name shop$/);
});

test('the version is told to those who ask for it in any way, and to programs', async () => {
  for (const typed of ['version', '--version', '-v'])
    assert.match((await run(typed)).text, /^holdfast \d+\.\d+\.\d+, Kubernetes v1\.32\.0, Node \d+\.\d+\.\d+$/);
  assert.deepEqual(Object.keys(JSON.parse((await run('version --json')).text)), ['version', 'kubernetes', 'node']);
});
