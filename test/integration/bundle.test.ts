import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createSystemClock } from '@holdfast/platform/clock';
import { eventually } from '@holdfast/platform/contract';

const SCRIPTS = path.resolve(import.meta.dirname, '../../scripts/sources');
const JOINER = path.join(SCRIPTS, 'bundle.mjs');
const DEADLINE_MS = 60_000;
const KEPT = 3;
const BUILDS = KEPT + 2;
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
if (process.env['STAYS'] !== undefined) {
  console.log('begun');
  for await (const _ of process.stdin);
}
const late = await import('./late.ts');
console.log(JSON.stringify({
  word, late: late.text, pack, beside, isBundled, counted: [later.counted(), demanded.counted(), count()],
  folder: path.basename(path.dirname(import.meta.dirname)),
}));`;
const clock = createSystemClock();
/** Longer than a tick of the kernel. */
const REST_MS = 50;
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
  write('services/two/src/late.ts', `export const text: string = 'late';`);
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
    flags: flagsOf(root),
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
  return JSON.parse(run(flagsOf(root)));
}

const flagsOf = (root: string): readonly string[] => [
  '--disable-warning=ExperimentalWarning',
  `--import=${path.join(root, 'scripts/sources/use.mjs')}`,
  path.join(root, 'services/two/src/main.ts'),
];

interface Joiner {
  readonly buildBundle: (root: string) => Promise<boolean>;
}

const SAME = { late: 'late', pack: 'packed', beside: 'here', counted: [1, 2, 3], folder: 'two' };

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
  const hasRested = (): boolean => clock.now() - statSync(at('pnpm-lock.yaml')).ctimeMs > REST_MS;
  await eventually(hasRested, 'changes can be told from those before');
  assert.equal(await buildBundle(root), true);
  rmSync(at('.bundle'), { recursive: true });
  write('libs/one/src/word.ts', `export const word: string = 'new';`);
  assert.equal(await buildBundle(root), false, 'a change of this tick may have come before or after a reading');
  await eventually(() => clock.now() - statSync(at('libs/one/src/word.ts')).ctimeMs > REST_MS, 'that is over');
  const building = buildBundle(root);
  const begunAt = clock.now();
  while (clock.now() < begunAt + REST_MS);
  write('libs/one/src/word.ts', `export const word: string = 'newer';`);
  assert.equal(await building, false);
  assert.deepEqual(readdirSync(at('.bundle')), []);
});

test('a process that still runs keeps the bundle that it began with, and only old ones are removed', async (t) => {
  const { at, write, join, flags } = workspace(t);
  join();
  const [first = ''] = bundlesIn(at('.bundle'));
  const child = spawn('env', ['STAYS=1', process.execPath, ...flags], { timeout: DEADLINE_MS });
  t.after(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  await eventually(() => stdout === 'begun\n', 'the program runs');
  const change = (length: number): void => {
    write('services/two/src/late.ts', `export const text: string = '${'x'.repeat(length)}';`);
    join();
  };
  for (let length = 0; length < BUILDS; length++) change(length);
  assert.equal(existsSync(at('.bundle', first)), true);
  assert.equal(bundlesIn(at('.bundle')).length, KEPT + 1);
  child.stdin.end();
  await once(child, 'close');
  assert.match(stdout, /"late":"late".*"isBundled":true/);
  const isMark = (name: string): boolean => name.startsWith('used-');
  assert.deepEqual(readdirSync(at('.bundle', first)).filter(isMark), []);
  write(`.bundle/${first}/used-${child.pid}`, '');
  change(BUILDS);
  assert.equal(existsSync(at('.bundle', first)), false);
});

test('the bundle that was made last is used, whatever the clock said when others were made', (t) => {
  const { at, join, start: begin } = workspace(t);
  for (let made = 0; made < BUILDS; made++) mkdirSync(at('.bundle', `9999999999999-${made}`), { recursive: true });
  join();
  assert.equal(begin()['isBundled'], true);
});

for (const [what, spoil] of Object.entries<(folder: string, home: string) => void>({
  'whose folder is gone': (folder) => rmSync(folder, { recursive: true }),
  'with an empty program': (folder) => writeFileSync(path.join(folder, 'services.two.src.main.js'), ''),
  'with half a manifest': (_, home) => writeFileSync(path.join(home, 'manifest.json'), '{'),
  'with an empty manifest': (_, home) => writeFileSync(path.join(home, 'manifest.json'), '{}'),
})) {
  test(`a bundle ${what} is no bundle, and is made again`, (t) => {
    const { at, join, start: begin } = workspace(t);
    join();
    const [folder = ''] = bundlesIn(at('.bundle'));
    spoil(at('.bundle', folder), at('.bundle'));
    assert.deepEqual(begin(), { ...SAME, word: 'old', isBundled: false });
    join();
    assert.deepEqual(begin(), { ...SAME, word: 'old', isBundled: true });
  });
}

test('what is no room, and what is no file of one, does not hinder', (t) => {
  const { at, write, join, start: begin } = workspace(t);
  mkdirSync(at('libs/gone/node_modules'), { recursive: true });
  write('libs/.DS_Store', '');
  write('libs/left/src/index.ts', '');
  write('.bundle/.DS_Store', '');
  symlinkSync('nobody@nowhere', at('libs/one/src/.#word.ts'));
  join();
  assert.equal(begin()['isBundled'], true);
});

const bundlesIn = (home: string): readonly string[] => readdirSync(home).filter((name) => !name.endsWith('.json'));
