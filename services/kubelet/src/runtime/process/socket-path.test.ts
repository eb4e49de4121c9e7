import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { createProcessRuntime } from './index.ts';
import { readNodeIsolation } from './node-isolation.ts';
import { socketPath } from './socket-path.ts';

const LONG = `/var/lib/${'long/'.repeat(30)}`;

const PROGRAM = `
import { socketPath } from ${JSON.stringify(path.join(import.meta.dirname, 'socket-path.ts'))};
process.stdout.write(socketPath('${LONG}'));
`;

const pathWith = (env: Readonly<Record<string, string>>): string =>
  execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', PROGRAM], { env, encoding: 'utf8' });

function temporary(t: TestContext): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-socket-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('a supervisor without an environment listens where a server with a TMPDIR looks for it', () => {
  assert.equal(pathWith({}), pathWith({ TMPDIR: '/var/tmp' }));
});

test('the directory of a socket outside the state directory belongs to this user alone', (t) => {
  const directory = temporary(t);
  const own = path.dirname(socketPath(LONG, directory));
  assert.equal(statSync(own).mode & 0o777, 0o700);
  assert.equal(path.dirname(socketPath(LONG, directory)), own, 'as an earlier start made it');
  const refusal = /not a directory of this user alone/;
  chmodSync(own, 0o770);
  assert.throws(() => socketPath(LONG, directory), refusal);
  rmSync(own, { recursive: true });
  mkdirSync(path.join(directory, 'elsewhere'), { mode: 0o700 });
  symlinkSync(path.join(directory, 'elsewhere'), own);
  assert.throws(() => socketPath(LONG, directory), refusal);
});

test('no pod sees the directory of the socket', async (t) => {
  const stateDirectory = path.join(temporary(t), 'long'.repeat(30));
  const log = createSilentLog();
  const options = { stateDirectory, clock: createSystemClock(), log, nodeAddress: () => '192.0.2.7' };
  const runtime = createProcessRuntime(options);
  t.after(() => runtime.close());
  const socket = socketPath(stateDirectory);
  assert.ok(!socket.startsWith(stateDirectory));
  assert.ok(readNodeIsolation(stateDirectory).hidden.includes(path.dirname(socket)));
});
