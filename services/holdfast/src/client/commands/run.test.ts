import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';

/** Notes where the kubeconfig is and what it says, and exits with 7, or by a signal. */
const PROGRAM = `
const { readFileSync, writeFileSync } = require('node:fs');
const [note, end] = process.argv.slice(1);
const file = process.env.KUBECONFIG;
writeFileSync(note, JSON.stringify({ file, text: readFileSync(file, 'utf8') }));
if (end === 'signal') process.kill(process.pid, 'SIGTERM'); else process.exit(7);
`;

test('run gives a command a cluster, ends with its code, and leaves nothing', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-run-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  const terminal = { print: note, tell: note, env: {}, clock: createSystemClock() };
  const run = (...argv: readonly string[]): Promise<number> => runCommand('run', argv, terminal);
  const file = path.join(folder, 'note');
  assert.equal(await run('--hollow-nodes=0', '--', process.execPath, '-e', PROGRAM, file), 7);
  const seen = JSON.parse(readFileSync(file, 'utf8'));
  assert.match(seen.text, /server: https:\/\/127\.0\.0\.1:\d+/);
  assert.equal(existsSync(seen.file), false);
  assert.equal(await run('--hollow-nodes=0', '--', process.execPath, '-e', PROGRAM, file, 'signal'), 128 + 15);
  lines.length = 0;
  assert.equal(await run('--hollow-nodes=0', '--json', '--', 'false'), 1);
  const documents = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    documents.map(({ event, code }) => [event, code]),
    [
      ['ready', undefined],
      ['end', 1],
    ],
  );
  lines.length = 0;
  assert.equal(await run('--hollow-nodes=0', '--json', '--', '/no/such/program'), 127);
  const [ready, end, ...more] = lines.map((line) => JSON.parse(line));
  assert.deepEqual([ready.event, end.event, end.code, more], ['ready', 'end', 127, []]);
  assert.match(`${end.message}\n${end.nextStep}`, /no\/such\/program cannot be started.*\n.*Check its name/);
  lines.length = 0;
  assert.equal(await run('--hollow-nodes=0', '--', '/no/such/program'), 127);
  assert.equal(await run('--', ''), 2);
  assert.equal(await run('--process-nodes=51', '--', 'true'), 2);
  const nodes = path.join(tmpdir(), 'holdfast-nodes-*');
  const look = ['--', 'sh', '-c', `ls -d ${nodes} > ${file}`];
  assert.equal(await run('--hollow-nodes=0', '--process-nodes=1', ...look), 0);
  assert.equal(existsSync(readFileSync(file, 'utf8').trim()), false);
  assert.match(lines.join('\n'), /cannot be started.*\n.*Check its name.*\n.*no command is given\n.*Write it after --/);
});
