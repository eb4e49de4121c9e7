import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const SCRIPTS = path.resolve(import.meta.dirname, '../../scripts/sources');
const JOINER = path.join(SCRIPTS, 'bundle.mjs');
const DEADLINE_MS = 60_000;
const KEPT = 5;
/** A whole second, so that it can be set again. */
const LONG_AGO = 1_700_000_000;

const MAIN = `import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { word, count } from '@holdfast/one';
import pack from 'pack';
const later = createRequire(import.meta.url)('./later.ts') as typeof import('./later.ts');
const demanded = await import('./demanded.ts');
const beside: string = readFileSync(new URL('./beside.txt', import.meta.url), 'utf8');
const isBundled: boolean = new Error().stack?.includes('.bundle') === true;
console.log(JSON.stringify({
  word, pack, beside, isBundled, counted: [later.counted(), demanded.counted(), count()],
  folder: path.basename(path.dirname(import.meta.dirname)),
}));`;
const COUNTED = `import { count } from '@holdfast/one';\nexport const counted = (): number => count();`;

/** A workspace of two rooms and a package, with the scripts that start its program. */
function workspace(t: TestContext) {
  const root = mkdtempSync(path.join(tmpdir(), 'holdfast-bundle-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const at = (...names: readonly string[]): string => path.join(root, ...names);
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(at(file)), { recursive: true });
    writeFileSync(at(file), text);
  };
  cpSync(SCRIPTS, at('scripts/sources'), { recursive: true });
  write('pnpm-lock.yaml', '');
  write('libs/one/package.json', '{"name":"@holdfast/one","type":"module","exports":"./src/index.ts"}');
  write(
    'libs/one/src/index.ts',
    `let n = 0;\nexport const count = (): number => ++n;\nexport { word } from './word.ts';`,
  );
  write('libs/one/src/word.ts', `export const word: string = 'old';`);
  write('services/two/package.json', '{"name":"@holdfast/two","type":"module"}');
  write('services/two/src/main.ts', MAIN);
  write('services/two/src/later.ts', COUNTED);
  write('services/two/src/demanded.ts', COUNTED);
  write('services/two/src/beside.txt', 'here');
  write('services/two/node_modules/pack/package.json', '{"name":"pack","main":"index.js"}');
  write('services/two/node_modules/pack/index.js', `module.exports = 'packed';`);
  mkdirSync(at('services/two/node_modules/@holdfast'));
  symlinkSync(at('libs/one'), at('services/two/node_modules/@holdfast/one'));
  return {
    root,
    at,
    write,
    join: (...flags: readonly string[]) => run([JOINER, root, ...flags]),
    start: () => start(root),
  };
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: DEADLINE_MS });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  return stdout;
}

function start(root: string): Record<string, unknown> {
  const flags = ['--disable-warning=ExperimentalWarning', `--import=${path.join(root, 'scripts/sources/use.mjs')}`];
  return JSON.parse(run([...flags, path.join(root, 'services/two/src/main.ts')]));
}

interface Joiner {
  readonly buildBundle: (root: string) => Promise<boolean>;
}

const SAME = { pack: 'packed', beside: 'here', counted: [1, 2, 3], folder: 'two' };

test('a program runs the same from its bundle: one copy of each module, with the files beside their sources', (t) => {
  const { join, start: begin } = workspace(t);
  assert.deepEqual(begin(), { ...SAME, word: 'old', isBundled: false });
  join();
  assert.deepEqual(begin(), { ...SAME, word: 'old', isBundled: true });
});

test('a changed source is seen, also when its length and its time are those of before', (t) => {
  const { at, write, join, start: begin } = workspace(t);
  const setBack = (): void => utimesSync(at('libs/one/src/word.ts'), LONG_AGO, LONG_AGO);
  setBack();
  join();
  write('libs/one/src/word.ts', `export const word: string = 'new';`);
  setBack();
  assert.deepEqual(begin(), { ...SAME, word: 'new', isBundled: false });
  join();
  assert.deepEqual(begin(), { ...SAME, word: 'new', isBundled: true });
});

test('a package is read where it is installed, and another lock file makes the bundle old', (t) => {
  const { write, join, start: begin } = workspace(t);
  join();
  write('services/two/node_modules/pack/index.js', `module.exports = 'packed anew';`);
  assert.deepEqual(begin(), { ...SAME, pack: 'packed anew', word: 'old', isBundled: true });
  write('pnpm-lock.yaml', 'lockfileVersion: 9');
  assert.equal(begin()['isBundled'], false);
});

test('in an image, whose files get new times of change on each machine, sources are compared by length and time', (t) => {
  const { at, write, join, start: begin } = workspace(t);
  join('--image');
  chmodSync(at('libs/one/src/word.ts'), 0o600);
  assert.equal(begin()['isBundled'], true);
  write('libs/one/src/word.ts', `export const word: string = 'mounted';`);
  assert.deepEqual(begin(), { ...SAME, word: 'mounted', isBundled: false });
});

test('a source that changes while its bundle is made leaves none behind', async (t) => {
  const { root, at, write } = workspace(t);
  const { buildBundle } = (await import(pathToFileURL(JOINER).href)) as Joiner;
  const building = buildBundle(root);
  write('libs/one/src/word.ts', `export const word: string = 'new';`);
  assert.equal(await building, false);
  assert.deepEqual(readdirSync(at('.bundle')), []);
});

test('processes that still run keep the bundle that they began with, and only old ones are removed', (t) => {
  const { at, write, join } = workspace(t);
  join();
  const [first = ''] = readdirSync(at('.bundle')).filter((name) => name !== 'manifest.json');
  for (let change = 0; change < KEPT; change++) {
    assert.equal(existsSync(at('.bundle', first)), true);
    write('libs/one/src/word.ts', `export const word: string = '${'x'.repeat(change)}';`);
    join();
  }
  assert.equal(existsSync(at('.bundle', first)), false);
  assert.equal(readdirSync(at('.bundle')).length, KEPT + 1);
});

test('a bundle that cannot be read is no bundle', (t) => {
  const { write, join, start: begin } = workspace(t);
  join();
  write('.bundle/manifest.json', '{');
  assert.deepEqual(begin(), { ...SAME, word: 'old', isBundled: false });
});
