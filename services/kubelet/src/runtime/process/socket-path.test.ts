import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const PROGRAM = `
import { socketPath } from ${JSON.stringify(path.join(import.meta.dirname, 'socket-path.ts'))};
process.stdout.write(socketPath('/var/lib/${'long/'.repeat(30)}'));
`;

const pathWith = (env: Readonly<Record<string, string>>): string =>
  execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', PROGRAM], { env, encoding: 'utf8' });

test('a supervisor without an environment listens where a server with a TMPDIR looks for it', () => {
  assert.equal(pathWith({}), pathWith({ TMPDIR: '/var/tmp' }));
});
