import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { applyBreak, type Break, checkRow, isBreak, readRequirements, readRows, titlePattern } from './breaks.ts';
import { mutate, unsound } from './mutate.ts';
import { readResults } from './run-tests.ts';
import { createScratch } from './scratch.ts';
import { layerOf, PAGE, renderPage } from './table.ts';

const root = path.resolve(import.meta.dirname, '../..');
const rows = readRows(root);
const GRACE = 'services/kubelet/src/domain/grace.ts';
const HARMLESS: Break = {
  id: 'TERM-36',
  file: GRACE,
  find: 'Math.max(MIN_POD_GRACE_SECONDS, grace)',
  replace: 'Math.max(grace, MIN_POD_GRACE_SECONDS)',
  tests: ['services/kubelet/src/domain/grace.test.ts'],
};
/** Quick ones of two rooms: their tests need less than a second. */
const SAMPLE = new Set(['TERM-20', 'TERM-28', 'TERM-29', 'TERM-34', 'TERM-36', 'TERM-40', 'TERM-41']);
const QUICK = new Set([...HARMLESS.tests, 'libs/api/src/kinds/pod/strategy.test.ts']);

test('every break applies to its file exactly once, leaves TypeScript, and names tests with its requirement', () => {
  assert.deepEqual(
    rows.flatMap((row) => checkRow(root, row)),
    [],
  );
});

test('every break belongs to a requirement, none is written twice, and every requirement has a row', (t) => {
  const requirements = readRequirements(root);
  assert.equal(requirements.length, 495);
  const known = new Set(requirements);
  assert.deepEqual(
    rows.map(({ id }) => id).filter((id) => !known.has(id)),
    [],
  );
  const keys = rows.filter(isBreak).map(({ id, file, find, replace }) => [id, file, find, replace].join('\n'));
  assert.deepEqual(
    keys.filter((key, at) => keys.indexOf(key) !== at),
    [],
  );
  const covered = new Set(rows.map(({ id }) => id));
  t.diagnostic(`${covered.size} of ${known.size} requirements have a row`);
  assert.deepEqual(
    requirements.filter((id) => !covered.has(id)),
    [],
    'requirements without a break and without a reason',
  );
});

test('the checks of a row detect each of its faults', () => {
  const faults: readonly [Partial<Break>, RegExp][] = [
    [{ file: 'services/kubelet/src/nowhere.ts' }, /does not exist/],
    [{ find: 'not in the file' }, /does not contain/],
    [{ find: 'MIN_POD_GRACE_SECONDS' }, /contains 2 times/],
    [{ replace: HARMLESS.find }, /changes nothing/],
    [{ replace: 'Math.max(' }, /is no TypeScript/],
    [{ tests: [] }, /names no test file/],
    [{ tests: ['services/kubelet/src/nowhere.test.ts'] }, /does not exist/],
    [{ id: 'TERM-3' }, /no test of .* has the id/],
  ];
  for (const [change, expected] of faults) {
    const problems = checkRow(root, { ...HARMLESS, ...change });
    assert.equal(problems.length, 1, problems.join());
    assert.match(problems[0] ?? '', expected);
  }
  assert.deepEqual(checkRow(root, HARMLESS), []);
  assert.equal(checkRow(root, { id: 'TERM-36', none: ' ' }).length, 1);
});

test('a title is found by its requirement, not by a similar prefix', () => {
  const pattern = titlePattern(['TERM-29', 'SAFE-01']);
  for (const title of ['[TERM-29] a', '[TERM-28] [TERM-29] a', '[TERM-28, TERM-29] a', 'suite > [SAFE-01] a'])
    assert.match(title, pattern);
  for (const title of ['TERM-29 a', '[TERM-2] a', '[TERM-290] a', '[XTERM-29] a']) assert.doesNotMatch(title, pattern);
});

test('results are read from the output of the runner', () => {
  const tap = ['TAP version 13', '# Subtest: a', '    ok 1 - inner', 'not ok 1 - outer', 'ok 2 - left # SKIP no'];
  assert.deepEqual(readResults(tap.join('\n')), { passed: ['inner'], failed: ['outer'] });
});

test('the page is generated from the current rows', () => {
  const page = renderPage(rows, readRequirements(root));
  assert.ok(
    readFileSync(path.join(root, PAGE), 'utf8') === page,
    'run `npm run mutate -- --table` and commit the page',
  );
});

test('the page names each requirement, its break and its layers', () => {
  const broken = { ...HARMLESS, find: 'return a || b;', replace: 'return a;', tests: ['test/sim/a.test.ts'] };
  const page = renderPage([broken, { id: 'TERM-37', none: 'a reason' }], readRequirements(root));
  assert.match(
    page,
    /\| TERM-36 \| .* \| `return a \\\|\\\| b;` becomes `return a;` \| test\/sim\/a.test.ts \| sim \|/,
  );
  assert.match(page, /\| TERM-37 \| \| a reason \|/);
  assert.equal(layerOf('services/kubelet/src/a.test.ts'), 'unit');
});

test('a sample of breaks is killed, and a neutral change survives', async (t) => {
  const scratch = createScratch(root);
  t.after(scratch.remove);
  const sample = rows
    .filter(isBreak)
    .filter(({ id, tests }) => SAMPLE.has(id) && tests.every((each) => QUICK.has(each)));
  assert.ok(sample.length >= SAMPLE.size);
  const unnamed: Break = { ...HARMLESS, id: 'TERM-01' };
  assert.deepEqual(await unsound(scratch, [...sample, unnamed]), ['no test of TERM-01 passed']);
  const stale = { ...HARMLESS, find: 'not in the file' };
  const lost = { ...HARMLESS, tests: ['services/kubelet/src/nowhere.test.ts'] };
  const outcomes = await mutate([scratch], [...sample, HARMLESS, stale, lost]);
  const verdictOf = (wanted: Break) => outcomes.find(({ broken }) => broken === wanted)?.verdict;
  for (const each of sample) assert.equal(verdictOf(each), 'killed', `${each.id}: ${each.find}`);
  assert.equal(verdictOf(HARMLESS), 'SURVIVED');
  assert.equal(verdictOf(stale), 'does not apply');
  assert.equal(verdictOf(lost), 'does not apply', 'a test that is not there notices nothing');
  assert.ok('text' in applyBreak(root, HARMLESS), 'the tree itself is as before');
});
