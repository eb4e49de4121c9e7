import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { diffJson } from './json-diff.ts';

const NOTHING: ReadonlySet<string> = new Set();

test('json diff: names each difference by its pointer, in the order of the document', () => {
  const before = { a: 1, list: [1, { x: 'old' }, 3], gone: true, 'b/c~': 'same key' };
  const after = { a: 2, list: [1, { x: 'new' }], 'b/c~': 'other', more: null };
  assert.deepEqual(diffJson(before, after, { most: 10, skip: NOTHING }), {
    isCut: false,
    differences: [
      { op: 'replace', path: '/a', from: 1, value: 2 },
      { op: 'replace', path: '/list/1/x', from: 'old', value: 'new' },
      { op: 'remove', path: '/list/2', from: 3 },
      { op: 'remove', path: '/gone', from: true },
      { op: 'replace', path: '/b~1c~0', from: 'same key', value: 'other' },
      { op: 'add', path: '/more', value: null },
    ],
  });
});

test('json diff: leaves out what it is told to, and stops at the bound', () => {
  const before = { metadata: { managedFields: [1], name: 'a' } };
  const after = { metadata: { managedFields: [2], name: 'b', x: 1, y: 2 } };
  const skip = new Set(['/metadata/managedFields']);
  const { differences, isCut } = diffJson(before, after, { most: 2, skip });
  assert.deepEqual(
    differences.map(({ path }) => path),
    ['/metadata/name', '/metadata/x'],
  );
  assert.equal(isCut, true);
  assert.deepEqual(diffJson(before, before, { most: 2, skip }), { differences: [], isCut: false });
});

test('json diff: a member named like one of every object is no member', () => {
  const { differences } = diffJson({ toString: 1 }, {}, { most: 9, skip: NOTHING });
  assert.deepEqual(differences, [{ op: 'remove', path: '/toString', from: 1 }]);
});
