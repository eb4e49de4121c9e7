import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RunReport } from './count-reporter.ts';
import { groupFiles, writeGroups } from './groups.ts';
import { addReports, joinReports, splitAlone } from './run-files.ts';
import { SUITES } from './suites.ts';

function treeOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(path.join(tmpdir(), 'holdfast-groups-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  return root;
}

/** The report of a run of these groups. */
function run(root: string, groups: readonly (readonly string[])[]): RunReport {
  const entries = writeGroups(path.join(root, 'groups'), groups, { root, timeoutMsPerFile: 60_000 });
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const reporter = path.join(import.meta.dirname, 'count-reporter.ts');
  const { stdout } = spawnSync(process.execPath, ['--test', `--test-reporter=${reporter}`, ...entries], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  return JSON.parse(stdout) as RunReport;
}

const FINE = "import { test } from 'node:test';\ntest('fine', () => {});\n";
const FAILS =
  "import { test } from 'node:test';\ntest('good', () => {});\ntest('bad', () => { throw new Error('no'); });\n";

test('a failure, a file that cannot be loaded and a failed hook each count once, and the next file runs', (t) => {
  const root = treeOf(t, {
    'a.test.js': FAILS,
    'b.test.js': "import './nowhere.js';\n",
    'c.test.js':
      "import { after, test } from 'node:test';\nafter(() => { throw new Error('hook'); });\ntest('c', () => {});\n",
    'd.test.js': FINE,
  });
  const files = ['a.test.js', 'b.test.js', 'c.test.js', 'd.test.js'];
  const { passed, failed, failures, ended } = run(root, [files]);
  assert.deepEqual([passed, failed, ended], [3, 3, files]);
  assert.deepEqual(
    failures.map((failure) => failure.slice(0, failure.indexOf(' ('))),
    ['✖ bad', '✖ b.test.js', '✖ c.test.js'],
  );
});

test('hooks of a file in a group apply to its own tests only', (t) => {
  const root = treeOf(t, {
    'a.test.js':
      "import { beforeEach, test } from 'node:test';\nbeforeEach(() => { throw new Error('no'); });\ntest('a', () => {});\n",
    'b.test.js': FINE,
  });
  const { passed, failed } = run(root, [['a.test.js', 'b.test.js']]);
  assert.deepEqual([passed, failed], [1, 1]);
});

test('a process that ends too early fails, and only the files of its group are missing', (t) => {
  const root = treeOf(t, {
    'a.test.js': FINE,
    'b.test.js': "import { test } from 'node:test';\ntest('b', () => process.exit(0));\n",
    'c.test.js': FINE,
  });
  const report = run(root, [['a.test.js', 'b.test.js'], ['c.test.js']]);
  assert.deepEqual(report.ended, ['c.test.js']);
  const joined = joinReports(report, { ...report, ended: ['a.test.js'] }, ['a.test.js', 'b.test.js']);
  assert.ok(joined.failed > 0);
  assert.match(joined.failures.at(-1) ?? '', /ran again alone: a\.test\.js, b\.test\.js$/);
});

test('groups contain the files of one room, and tests that measure or change their process run alone', (t) => {
  const many = Array.from({ length: 25 }, (_, i) => `libs/b/src/${i + 10}.test.ts`);
  const measures = ['libs/a/src/cpu.test.ts', 'services/c/src/mask.test.ts'];
  const files = ['libs/a/src/a.test.ts', ...many, ...measures].sort();
  const root = treeOf(t, {
    ...Object.fromEntries(files.map((file) => [file, FINE])),
    'libs/a/src/cpu.test.ts': 'process.cpuUsage();',
    'services/c/src/mask.test.ts': 'process.umask(0);',
  });
  const groups = groupFiles(root, files);
  assert.deepEqual(
    groups.map((group) => group.length),
    [1, 9, 9, 7, 1, 1],
  );
  assert.deepEqual(groups.flat().toSorted(), files);
  assert.deepEqual(
    groups.slice(-2),
    measures.map((file) => [file]),
  );
});

test('files that look at the whole machine run apart from the others, and all are counted', () => {
  const parts = splitAlone({ alone: ['b.test.ts'] }, ['a.test.ts', 'b.test.ts', 'c.test.ts']);
  assert.deepEqual(parts, { together: ['a.test.ts', 'c.test.ts'], alone: ['b.test.ts'] });
  const report = {
    passed: 2,
    failed: 1,
    skips: [],
    failures: ['one'],
    ended: ['a.test.ts'],
    times: [{ file: 'a.test.ts', ms: 1 }],
  };
  const sum = addReports(report, { passed: 3, failed: 0, skips: [], failures: [], ended: ['b.test.ts'], times: [] });
  const times = [{ file: 'a.test.ts', ms: 1 }];
  assert.deepEqual(sum, {
    passed: 5,
    failed: 1,
    skips: [],
    failures: ['one'],
    ended: ['a.test.ts', 'b.test.ts'],
    times,
  });
});

test('every file that runs alone exists', () => {
  const root = new URL('../../', import.meta.url);
  for (const file of SUITES.flatMap(({ alone = [] }) => alone)) assert.ok(existsSync(new URL(file, root)), file);
});
