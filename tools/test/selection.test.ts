import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { affectedFiles, changedFiles } from './affected.ts';
import { chooseFiles, patternOf, readSelection } from './selection.ts';
import type { Suite } from './suites.ts';

const suite = (name: string, files: string): Suite => ({
  name,
  files: [files],
  concurrency: 1,
  timeoutSecondsPerTest: 1,
});
const SUITES = [suite('unit', 'libs/**/*.test.ts'), suite('sim', 'test/sim/*.test.ts'), suite('empty', 'no/*.test.ts')];

function tree(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(path.join(tmpdir(), 'holdfast-selection-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

const FILES = {
  'libs/a/package.json': '{"exports":{".":"./src/index.ts","./part":"./src/part.ts"}}',
  'libs/a/src/index.ts': "export { one } from './one.ts';",
  'libs/a/src/one.ts': 'export const one = 1;',
  'libs/a/src/part.ts': "import type { T } from './one.ts';\nexport const part = 1;",
  'libs/a/src/one.test.ts': "import { one } from './one.ts';\ntest('[TERM-29] a', () => {});",
  'libs/b/src/two.test.ts': "import { one } from '@holdfast/a';\ntest('b', () => {});",
  'libs/b/src/three.test.ts': "import { part } from '@holdfast/a/part';\ntest('c', () => {});",
  'test/sim/world.test.ts': "import { one } from '@holdfast/a';\ntest('[TERM-29] d', () => {});",
};

const choose = (root: string, args: readonly string[], changed: readonly string[] = []) => {
  const affected = (files: readonly string[]): readonly string[] => affectedFiles(root, changed, files);
  return chooseFiles(readSelection(args, SUITES, root), SUITES, { root, affected }).map(
    ({ suite: { name }, files }) => `${name}: ${files.join(' ')}`,
  );
};

test('suites, files, folders and title texts select tests', (t) => {
  const root = tree(t, FILES);
  const all =
    'unit: libs/a/src/one.test.ts libs/b/src/three.test.ts libs/b/src/two.test.ts|sim: test/sim/world.test.ts|empty: ';
  assert.equal(choose(root, []).join('|'), all);
  assert.deepEqual(choose(root, ['sim']), ['sim: test/sim/world.test.ts']);
  assert.deepEqual(choose(root, ['libs/b/src/two.test.ts']), ['unit: libs/b/src/two.test.ts']);
  assert.deepEqual(choose(root, ['libs/b']), ['unit: libs/b/src/three.test.ts libs/b/src/two.test.ts']);
  const found = ['unit: libs/a/src/one.test.ts', 'sim: test/sim/world.test.ts'];
  assert.deepEqual(choose(root, ['--grep', '[TERM-29]']), found);
  assert.deepEqual(choose(root, ['--grep=[TERM-29]']), found);
  assert.deepEqual(choose(root, ['--grep', 'TERM-99']), []);
  assert.match('[TERM-29] x', new RegExp(patternOf('[TERM-29]')));
});

test('a change affects the unit tests that import it, also transitively, but not through types', (t) => {
  const root = tree(t, FILES);
  const changed = ['libs/a/src/one.ts'];
  assert.deepEqual(choose(root, ['--changed'], changed), ['unit: libs/a/src/one.test.ts libs/b/src/two.test.ts']);
  assert.deepEqual(choose(root, ['--changed', 'sim'], changed), ['sim: test/sim/world.test.ts']);
  assert.deepEqual(choose(root, ['--changed'], ['libs/b/src/three.test.ts']), ['unit: libs/b/src/three.test.ts']);
});

test('changed files are new files and those that differ from main, but not removed ones', (t) => {
  const root = tree(t, FILES);
  const answers = new Map([
    ['merge-base HEAD main', []],
    ['merge-base HEAD origin/main', ['abc']],
    ['diff --name-only abc', ['libs/a/src/one.ts', 'libs/a/src/removed.ts']],
    ['ls-files --others --exclude-standard', ['libs/a/src/part.ts', 'libs/a/src/one.ts']],
  ]);
  const git = (args: readonly string[]): readonly string[] =>
    answers.get(args.join(' ')) ?? assert.fail(args.join(' '));
  assert.deepEqual(changedFiles(root, git), ['libs/a/src/one.ts', 'libs/a/src/part.ts']);
});

test('an unknown argument is refused with the valid ones', () => {
  assert.throws(() => readSelection(['uint'], SUITES, '/'), /"uint" is no suite \(unit, sim, empty\), no file/);
  assert.throws(() => readSelection(['--grep'], SUITES, '/'), /--grep needs a text/);
});
