import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { NODE_FLAGS } from '../support/node-flags.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');
const DEADLINE_MS = 60_000;

/** Each thread tells at its end whether Node's own stripper of types is in its memory, or what `import 'node:http'` loads. */
const TELLING = ['--require', path.resolve(import.meta.dirname, '../support/tell-large.mjs')];

/** `environment`: NAME=value, beside what this process has. */
function help(flags: readonly string[], environment: readonly string[] = []): { stdout: string; stderr: string } {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...flags, MAIN, 'start', '--help'];
  return spawnSync('env', [...environment, ...command], { encoding: 'utf8', timeout: DEADLINE_MS });
}

test('a process with the helper runs the same without the stripper of types in its memory', () => {
  const alone = help(TELLING);
  assert.match(alone.stderr, /LARGE amaro/, 'the test can tell');
  const helped = help([...NODE_FLAGS, ...TELLING]);
  assert.equal(helped.stderr, '');
  assert.equal(helped.stdout, alone.stdout);
});

test('where the helper can write nothing, Node strips the types itself', () => {
  const { stdout, stderr } = help([...NODE_FLAGS, ...TELLING], ['TMPDIR=/does/not/exist']);
  assert.match(stderr, /LARGE amaro/);
  assert.match(stdout, /--data-dir/);
});

test('a whole cluster starts, with its threads, without the stripper of types and undici in its memory', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-sources-'));
  const args = [...NODE_FLAGS, ...TELLING, MAIN, 'start', '--json', '--port', '0', '--data-dir', folder];
  const child = spawn(process.execPath, args, { timeout: DEADLINE_MS });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    if (stdout.includes('"event":"ready"')) child.kill('SIGTERM');
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /"event":"ready"/);
  assert.doesNotMatch(stderr, /LARGE/);
});
