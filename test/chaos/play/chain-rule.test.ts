import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteOperation } from '@holdfast/store';
import { ChainRule } from './chain-rule.ts';

const KEY = 'core/configmaps/default/a';
const create: WriteOperation = { kind: 'create', key: KEY, value: '{}' };
const change = (kind: 'update' | 'delete', expectedRevision: number): WriteOperation => ({
  kind,
  key: KEY,
  value: '{}',
  expectedRevision,
});

function judged(first: number, ...operations: readonly (WriteOperation | undefined)[]): readonly string[] {
  const rule = new ChainRule();
  return operations.flatMap((operation, index) => {
    const revision = first + index;
    return rule.observe(revision, operation && { revision, operation }) ?? [];
  });
}

test('a change that does not build on the one before is found', () => {
  assert.deepEqual(judged(1, create, change('update', 1), undefined, change('delete', 2), create), []);
  assert.match(
    judged(1, create, change('update', 1), change('update', 1))[0] ?? '',
    /builds on 1, and the store had 2/,
  );
  assert.match(judged(1, create, create)[0] ?? '', /builds on nothing, and the store had 1/);
  assert.match(judged(1, undefined, change('update', 1))[0] ?? '', /builds on 1, and the store had nothing/);
});

test('what was written before the history that is read is not judged', () => {
  assert.deepEqual(judged(7, change('update', 3), change('update', 7)), []);
  assert.equal(judged(7, change('update', 3), change('update', 3)).length, 1);
});
