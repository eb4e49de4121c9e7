import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { NODE_FLAGS } from '../support/node-flags.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');
const FAILING = ['--require', path.resolve(import.meta.dirname, '../support/failing-thread.mjs')];
const DEADLINE_MS = 60_000;

test('a cluster whose HTTPS thread fails ends, with two lines for the operator and the details in the log', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-thread-failure-'));
  const args = [...NODE_FLAGS, ...FAILING, MAIN, 'start', '--json', '--port', '0', '--memory', '--data-dir', folder];
  const child = spawn(process.execPath, args, { timeout: DEADLINE_MS, stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = await once(child, 'close');
  assert.equal(code, 70, stderr);
  const [last, message] = stderr.trimEnd().split('\n').reverse();
  assert.equal(message, 'holdfast: The thread of the HTTPS server has failed: broken on purpose');
  assert.match(last ?? '', /^ {2}Start it again/);
  assert.match(stderr, /"stack":"Error: broken on purpose/);
});
