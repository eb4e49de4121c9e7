import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRecord } from './cluster-home.ts';
import { planOf } from './starting.ts';

test('paths in new flags are in the directory of their command, those of earlier flags stay where they were', () => {
  const first = planOf(newRecord('one', 0, '/first'), { flags: ['--audit-policy-file=policy.yaml'] }, '/first');
  assert.deepEqual([first.directory, first.flags], ['/first', ['--audit-policy-file=policy.yaml']]);
  assert.deepEqual(planOf(first, { flags: [] }, '/second'), first);
  const second = planOf(first, { flags: ['--audit-policy-file=other.yaml'] }, '/second');
  assert.deepEqual([second.directory, second.flags], ['/second', ['--audit-policy-file=other.yaml']]);
});
