import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { circularImports, folderImports, readSources } from './folder-circles.ts';

const root = path.resolve(import.meta.dirname, '../..');

const circlesOf = (files: Readonly<Record<string, string>>): readonly string[] =>
  circularImports(folderImports(new Map(Object.entries(files)))).map(({ files: pair }) => pair);

for (const folder of globSync(['services/*/src', 'libs/*/src'], { cwd: root }).toSorted()) {
  test(`tree: no folders of ${folder} import each other in a circle`, () => {
    const sources = readSources(path.join(root, folder));
    assert.ok(sources.size > 0);
    assert.deepEqual(
      circularImports(folderImports(sources)).map(({ files }) => files),
      [],
    );
  });
}

test('a folder cycle is detected, also a long one and one through a dynamic import', () => {
  assert.deepEqual(
    circlesOf({ 'a/x.ts': "import { y } from '../b/y.ts';", 'b/y.ts': "import { z } from '../a/z.ts';" }),
    ['a/x.ts -> b/y.ts', 'b/y.ts -> a/z.ts'],
  );
  const long = {
    'a/x.ts': "export { y } from '../b/deep/y.ts';",
    'b/deep/y.ts': "const z = () => import('../../c/z.ts');",
    'c/z.ts': "createRequire(import.meta.url)('../a/x.ts');",
    'd/w.ts': "import { x } from '../a/x.ts';",
  };
  assert.deepEqual(circlesOf(long), ['a/x.ts -> b/deep/y.ts', 'b/deep/y.ts -> c/z.ts', 'c/z.ts -> a/x.ts']);
});

test('types, tests, files of the root and files of one folder form no cycle', () => {
  const one = { 'a/x.ts': "import { y } from '../b/y.ts';" };
  for (const other of [
    { 'b/y.ts': "import type { X } from '../a/x.ts';" },
    { 'b/y.ts': "import {\n  type X,\n  type Z as W,\n} from '../a/x.ts';" },
    { 'b/y.test.ts': "import { x } from '../a/x.ts';" },
    { 'testing/y.ts': "import { x } from '../a/x.ts';", 'a/z.ts': "import { y } from '../testing/y.ts';" },
    { 'app.ts': "import { x } from './a/x.ts';", 'b/y.ts': "import { app } from '../app.ts';" },
    { 'b/y.ts': "import { z } from './z.ts';", 'b/z.ts': '' },
  ]) {
    assert.deepEqual(circlesOf({ ...one, ...other }), []);
  }
});
