import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTable } from './table.ts';
import { warningsOf } from './warnings.ts';

const TABLE = {
  columnDefinitions: [
    { name: 'Name', priority: 0 },
    { name: 'Ready', priority: 0 },
    { name: 'Node', priority: 1 },
  ],
  rows: [
    { cells: ['a-long-name', 1, 'n'], object: { metadata: { namespace: 'team' } } },
    { cells: ['b', null, undefined], object: { metadata: { namespace: 'x' } } },
  ],
};

test('a table of the API is shown in columns; wide and namespaces add theirs', () => {
  assert.deepEqual(formatTable(TABLE, { wide: false, namespaces: false }), [
    'NAME          READY',
    'a-long-name   1',
    'b             <none>',
  ]);
  const [head, first] = formatTable(TABLE, { wide: true, namespaces: true });
  assert.deepEqual([head, first], ['NAMESPACE   NAME          READY    NODE', 'team        a-long-name   1        n']);
  assert.deepEqual(formatTable({ ...TABLE, rows: [] }, { wide: false, namespaces: false }), []);
});

test('foreign text is printed on one line without control characters', () => {
  const cells = ['a\u001b[2Jb\u009b', 'one\ntwo', null];
  const rows = [{ cells, object: {} }];
  const [, row] = formatTable({ ...TABLE, rows }, { wide: false, namespaces: false });
  assert.equal(row, 'a^[[2Jb\\u009b   one...');
});

test('warnings in a header are separated, with their quotes', () => {
  assert.deepEqual(warningsOf(''), []);
  assert.deepEqual(warningsOf('299 - "one, \\"quoted\\" \\\\", 299 - "two"'), ['one, "quoted" \\', 'two']);
});

test('a warning is UTF-8, whose bytes Node hands over as characters', () => {
  const header = Buffer.from('299 - "unknown field \\"größe 日\\""').toString('latin1');
  assert.deepEqual(warningsOf(header), ['unknown field "größe 日"']);
});
