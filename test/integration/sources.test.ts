import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { ensureBundle } from '../../tools/setup/bundle.ts';
import { NODE_FLAGS, SOURCE_FLAGS } from '../support/node-flags.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');
const SCRIPTS = path.resolve(import.meta.dirname, '../../scripts/sources');
const DEADLINE_MS = 60_000;

/** Each thread reports at its end whether Node's own type stripper is loaded, or what `import 'node:http'` loads. */
const TELLING = ['--require', path.resolve(import.meta.dirname, '../support/tell-large.mjs')];

before(ensureBundle);

/** What an earlier process has compiled is not stripped again. */
const FRESH = 'NODE_DISABLE_COMPILE_CACHE=1';

/** `environment`: NAME=value, beside what this process has. */
function help(flags: readonly string[], environment: readonly string[] = []): { stdout: string; stderr: string } {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...flags, MAIN, 'start', '--help'];
  return spawnSync('env', [FRESH, ...environment, ...command], { encoding: 'utf8', timeout: DEADLINE_MS });
}

test('a process with the helper runs the same without the stripper of types in its memory', () => {
  const alone = help(TELLING);
  assert.match(alone.stderr, /LARGE amaro/, 'the test can tell');
  const helped = help([...SOURCE_FLAGS, ...TELLING]);
  assert.equal(helped.stderr, '');
  assert.equal(helped.stdout, alone.stdout);
});

test('when the helper cannot write, Node strips the types itself', () => {
  const { stdout, stderr } = help([...SOURCE_FLAGS, ...TELLING], ['TMPDIR=/does/not/exist']);
  assert.match(stderr, /LARGE amaro/);
  assert.match(stdout, /--data-dir/);
});

test('when the disk is full, Node strips the types itself', () => {
  const noFileMayGrow = ['-c', 'ulimit -f 0 && exec "$0" "$@"', process.execPath];
  const command = [...SOURCE_FLAGS, ...TELLING, MAIN, 'start', '--help'];
  const { stdout, stderr } = spawnSync('env', [FRESH, 'sh', ...noFileMayGrow, ...command], {
    encoding: 'utf8',
    timeout: DEADLINE_MS,
  });
  assert.match(stderr, /^LARGE amaro$/);
  assert.match(stdout, /--data-dir/);
});

/** A program of two modules with a helper of its own, run to its end. */
function runWithHelper(t: TestContext, helper: string, change: (texts: string) => string = (texts) => texts) {
  const root = mkdtempSync(path.join(tmpdir(), 'holdfast-sources-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const scripts = path.join(root, 'scripts', 'sources');
  cpSync(SCRIPTS, scripts, { recursive: true });
  writeFileSync(path.join(scripts, 'strip.mjs'), helper);
  const texts = path.join(scripts, 'texts.mjs');
  writeFileSync(texts, change(readFileSync(texts, 'utf8')));
  writeFileSync(
    path.join(root, 'main.ts'),
    `import { two } from './two.ts';\nconst text: string = two; console.log(text);`,
  );
  writeFileSync(path.join(root, 'two.ts'), `export const two: string = 'two';`);
  const flags = ['--disable-warning=ExperimentalWarning', `--import=${path.join(scripts, 'use.mjs')}`];
  const command = [...flags, path.join(root, 'main.ts')];
  return spawnSync(process.execPath, command, { encoding: 'utf8', timeout: DEADLINE_MS });
}

test('Node strips a file that the helper does not write', (t) => {
  const ending = `import { writeSync } from 'node:fs';
    import { encodeRecord } from './record.mjs';
    writeSync(1, encodeRecord('', ''));`;
  const { stdout, stderr } = runWithHelper(t, ending);
  assert.deepEqual([stdout, stderr], ['two\n', '']);
});

test('no process waits for a killed helper, however long it waits for a busy one', (t) => {
  const forEver = (texts: string): string => texts.replace('SILENCE_MS = 10_000', 'SILENCE_MS = Infinity');
  const { stdout, stderr } = runWithHelper(t, `process.kill(process.pid, 'SIGKILL');`, forEver);
  assert.deepEqual([stdout, stderr], ['two\n', '']);
});

test('a Ctrl-C that reaches the helper leaves it running for the server, which stops in order', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-sources-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [texts, wanted] = [path.join(folder, 'texts'), path.join(folder, 'wanted')].map((name) => openSync(name, 'w+'));
  const strip = path.join(SCRIPTS, 'strip.mjs');
  const args = ['--disable-warning=ExperimentalWarning', strip, path.dirname(path.dirname(SCRIPTS)), MAIN];
  const child = spawn(process.execPath, args, { stdio: ['ignore', texts, 'inherit', wanted], timeout: DEADLINE_MS });
  await eventually(() => statSync(path.join(folder, 'texts')).size > 0, 'the helper writes');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'close'), [0, null]);
});

for (const [beginning, flags] of Object.entries({ 'its bundle': NODE_FLAGS, 'its sources': SOURCE_FLAGS })) {
  test(`a whole cluster starts from ${beginning}, with its threads, without the stripper of types and undici in its memory`, async (t) => {
    const { stdout, stderr } = await startAndStop(t, [...flags, ...TELLING]);
    assert.match(stdout, /"event":"ready"/);
    assert.doesNotMatch(stderr, /LARGE/);
  });
}

test('a cluster that starts from its bundle reads no module from the sources, in no thread, also with a pod', async (t) => {
  const telling = ['--require', path.resolve(import.meta.dirname, '../support/tell-sources.mjs')];
  assert.match(help(telling).stderr, /SOURCE .*start-command/, 'the test can tell');
  const { stderr } = await startAndStop(t, [...NODE_FLAGS, ...TELLING, ...telling], (kubeconfig) => {
    const kubectl = ['--kubeconfig', kubeconfig];
    execFileSync('kubectl', [
      ...kubectl,
      'run',
      'one',
      '--image=app',
      '--restart=Never',
      '--command',
      '--',
      'sleep',
      '1000',
    ]);
    execFileSync('kubectl', [...kubectl, 'wait', 'pod/one', '--for=condition=Ready', '--timeout=60s']);
  });
  assert.doesNotMatch(stderr, /SOURCE|LARGE/);
});

async function startAndStop(
  t: TestContext,
  flags: readonly string[],
  meanwhile: (kubeconfig: string) => void = () => {},
): Promise<{ stdout: string; stderr: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-sources-'));
  const args = [...flags, MAIN, 'start', '--json', '--port', '0', '--data-dir', folder];
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
    if (!stdout.includes('"event":"ready"')) return;
    meanwhile(path.join(folder, 'kubeconfig'));
    child.kill('SIGTERM');
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, stderr);
  return { stdout, stderr };
}
