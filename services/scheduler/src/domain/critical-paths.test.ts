import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CriticalPaths } from './critical-paths.ts';

function after(...updates: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] {
  const paths = new CriticalPaths();
  for (const [value, count] of updates) paths.update(value, count);
  return paths.pair.map(({ value, count }) => [value, count] as const);
}

test('[SPREAD-30] two entries, the smaller first, both at the largest int32 before any count is known', () => {
  assert.deepEqual(after(), [
    ['', 2147483647],
    ['', 2147483647],
  ]);
  assert.deepEqual(after(['A', 3]), [
    ['A', 3],
    ['', 2147483647],
  ]);
  assert.deepEqual(after(['A', 3], ['B', 5]), [
    ['A', 3],
    ['B', 5],
  ]);
});

test('[SPREAD-31] [EXS-10] [EXS-13] an update replaces its own entry, or the larger entry that it undercuts', () => {
  assert.deepEqual(after(['z1', 3], ['z2', 2], ['z3', 0]), [
    ['z3', 0],
    ['z2', 2],
  ]);
  assert.deepEqual(after(['A', 0], ['B', 1], ['A', 5]), [
    ['B', 1],
    ['A', 5],
  ]);
  assert.deepEqual(after(['a', 2], ['b', 1]), [
    ['b', 1],
    ['a', 2],
  ]);
  assert.deepEqual(after(['a', 1], ['b', 2], ['c', 2]), [
    ['a', 1],
    ['b', 2],
  ]);
  assert.deepEqual(after(['a', 1], ['b', 2], ['b', 5]), [
    ['a', 1],
    ['b', 5],
  ]);
  assert.deepEqual(after(['a', 1], ['b', 2], ['b', 1]), [
    ['a', 1],
    ['b', 1],
  ]);
  assert.deepEqual(after(['a', 1], ['b', 2], ['b', 0]), [
    ['b', 0],
    ['a', 1],
  ]);
});

test('[SPREAD-32] the minimum stays exact while pods of one domain come and go', () => {
  const counts = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(4)), {
    minLength: 1,
    selector: ([value]) => value,
  });
  fc.assert(
    fc.property(counts, fc.nat(4), fc.array(fc.constantFrom(1, -1), { maxLength: 8 }), (domains, at, steps) => {
      const paths = new CriticalPaths();
      const now = new Map(domains);
      for (const [value, count] of domains) paths.update(value, count);
      const [value] = domains[at % domains.length] ?? ['a'];
      const copy = paths.copy();
      for (const by of steps) {
        now.set(value, Math.max(0, (now.get(value) ?? 0) + by));
        copy.update(value, now.get(value) ?? 0);
        assert.equal(copy.fewest, Math.min(...now.values()));
      }
      assert.equal(paths.fewest, Math.min(...domains.map(([, count]) => count)), 'the origin is as it was');
    }),
  );
});
