import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';

const MAIN = path.join(import.meta.dirname, '..', '..', 'main.ts');

test('testenv prints one ready line, keeps the token in a file of its owner, and ends with a signal', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-testenv-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'token');
  writeFileSync(file, 'of another run', { mode: 0o644 });
  const args = [...process.execArgv, MAIN, 'testenv', '--json', '--token-file', file];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: line = '' } = await lines.next();
  const { url, openapi, ...more } = JSON.parse(line);
  assert.deepEqual([openapi, more], [`${url}/openapi.json`, { tokenFile: file }]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const headers = { authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` };
  const created = await fetch(`${url}/clusters`, { method: 'POST', headers });
  assert.equal(created.status, 201);
  await created.arrayBuffer();
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.equal((await lines.next()).done, true);
  assert.equal(existsSync(file), false);
});

/** Starts a cluster over the control endpoint that its environment names, and notes where that is. */
const PROGRAM = `
const { HOLDFAST_TESTENV_URL: url, HOLDFAST_TESTENV_TOKEN: token } = process.env;
const headers = { authorization: 'Bearer ' + token };
const { status } = await fetch(url + '/clusters', { method: 'POST', headers });
(await import('node:fs')).writeFileSync(process.argv[1], url);
process.exit(status === 201 ? 7 : 1);
`;

test('testenv serves as long as a command runs, and ends with its code', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-testenv-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  const terminal = { print: note, tell: note, env: {}, clock: createSystemClock() };
  const run = (...argv: readonly string[]): Promise<number> => runCommand('testenv', argv, terminal);
  const file = path.join(folder, 'note');
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port: portInUse } = server.address() as AddressInfo;
  assert.equal(await run('--', process.execPath, '--input-type=module', '-e', PROGRAM, file), 7);
  assert.deepEqual(lines, []);
  await assert.rejects(fetch(`${readFileSync(file, 'utf8')}/openapi.json`));
  assert.equal(await run('--', '/no/such/program'), 127);
  assert.equal(await run('--json', '--', 'true'), 2);
  assert.match(
    lines.join('\n'),
    /cannot be started.*\n.*Check its name.*\n.*by its environment\n.*HOLDFAST_TESTENV_URL/,
  );
  for (const nothing of [['--'], ['--', '']]) {
    lines.length = 0;
    // One that serves would never end: the port is in use.
    assert.equal(await run('--port', String(portInUse), ...nothing), 2);
    assert.match(lines.join('\n'), /no command stands behind --\n.*`testenv -- pytest`/);
  }
});

test('wrong flags of testenv and a token file that cannot be written are told with the next step', async () => {
  const told: string[] = [];
  const note = (line: string): void => void told.push(line);
  const terminal = { print: note, tell: note, env: {}, clock: createSystemClock() };
  assert.equal(await runCommand('testenv', ['assets'], terminal), 2);
  assert.equal(await runCommand('testenv', ['--token-file', '/no/such/folder/token'], terminal), 1);
  assert.match(told.join('\n'), /does not know "assets"\n.*--help.*\n.*the token cannot be written.*\n.*--token-file/);
  assert.equal(await runCommand('testenv', ['--help'], terminal), 0);
  assert.match(told.join('\n'), /--max-snapshots/);
});
