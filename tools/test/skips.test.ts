import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ALLOWED_SKIPS, describeSkips, refuseSkips } from './skips.ts';

const report = { passed: 3, failed: 0, failures: [], ended: [], times: [] };
const skip = (file: string, reason: string) => ({ title: 'a test', file, reason });

test('on CI a skip is a failure unless the list has its file and its reason', () => {
  const allowed = [{ file: 'a.test.ts', reason: /^no network/, because: 'it has none' }];
  const skips = [
    skip('a.test.ts', 'no network here'),
    skip('a.test.ts', 'too slow'),
    skip('b.test.ts', 'no network here'),
  ];
  const judged = refuseSkips({ ...report, skips }, allowed);
  assert.deepEqual([judged.passed, judged.failed, judged.skips], [3, 2, skips.slice(0, 1)]);
  assert.match(judged.failures.join('\n'), /^✖ a test \(a\.test\.ts\): skipped: too slow\n {4}Make it run here/);
  const fine = { ...report, skips: skips.slice(0, 1) };
  assert.equal(refuseSkips(fine, allowed), fine);
});

test('skips are shown by file and reason, with their number', () => {
  const skips = [skip('a.test.ts', 'no network'), skip('b.test.ts', 'slow'), skip('a.test.ts', 'no network')];
  assert.deepEqual(describeSkips(skips), ['2 skipped in a.test.ts: no network', '1 skipped in b.test.ts: slow']);
});

test('every file of the list of allowed skips exists', () => {
  const root = path.resolve(import.meta.dirname, '../..');
  assert.deepEqual(
    ALLOWED_SKIPS.filter(({ file }) => !existsSync(path.join(root, file))),
    [],
  );
});
