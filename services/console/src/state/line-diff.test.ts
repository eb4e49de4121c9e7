import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines } from './line-diff.ts';
import { forEditing } from './yaml-text.ts';

const MARKS = { same: ' ', removed: '-', added: '+', gap: '~' } as const;
const diff = (before: string, after: string) => diffLines(before, after).map(({ kind, text }) => MARKS[kind] + text);

test('equal texts differ in nothing', () => {
  assert.deepEqual(diff('a\nb', 'a\nb'), []);
});

test('changed lines are shown with a few around them', () => {
  const lines = 'a b c d e f g h i j k l m n'.split(' ');
  const after = lines.map((line) => (line === 'b' || line === 'm' ? line.toUpperCase() : line));
  assert.equal(diff(lines.join('\n'), after.join('\n')).join('|'), ' a|-b|+B| c| d| e|~| j| k| l|-m|+M| n');
});

test('lines that came, went and moved', () => {
  assert.deepEqual(diff('a\nb\nc', 'a\nc'), [' a', '-b', ' c']);
  assert.deepEqual(diff('a\nc', 'a\nb\nc'), [' a', '+b', ' c']);
  assert.deepEqual(diff('x\na\nb', 'a\nb\nx'), ['-x', ' a', ' b', '+x']);
});

test('long texts are not compared line by line', () => {
  const [a, b] = ['a', 'b'].map((name) => Array.from({ length: 2_100 }, (_, i) => `${name}${i}`).join('\n'));
  assert.equal(diffLines(a ?? '', b ?? '').length, 4_200);
});

test('what a person edits has no status and no field owners', () => {
  const yaml =
    'kind: Pod\nmetadata:\n  managedFields:\n  - manager: a\n  name: web\n  resourceVersion: "7"\n  uid: u\nspec:\n  generation: 1\nstatus:\n  phase: x\n';
  assert.equal(forEditing(yaml), 'kind: Pod\nmetadata:\n  name: web\n  uid: u\nspec:\n  generation: 1\n');
  assert.equal(forEditing('status:\n  a: 1\nspec: {}\n'), 'spec: {}\n');
});
