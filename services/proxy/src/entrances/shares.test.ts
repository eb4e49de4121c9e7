import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { equalShares, mayTake } from './shares.ts';

test('greedy holders leave a place for one that has none', () => {
  const counts = new Map<string, number>();
  const take = (holder: string): void => {
    const own = counts.get(holder) ?? 0;
    const all = [...counts.values()].reduce((sum, each) => sum + each, 0);
    if (mayTake({ own, all, most: 12 })) counts.set(holder, own + 1);
  };
  for (let i = 0; i < 100; i++) for (const holder of ['a', 'b']) take(holder);
  take('newcomer');
  assert.deepEqual(Object.fromEntries(counts), { a: 4, b: 4, newcomer: 1 });
});

test('whoever wants less than an equal share gets all of it, and all places are used', () => {
  const item = fc.record({ holder: fc.constantFrom('a', 'b', 'c') });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 60 }), fc.integer({ min: 0, max: 30 }), (items, most) => {
      const chosen = equalShares(items, most, ({ holder }) => holder);
      assert.equal(chosen.size, Math.min(items.length, most));
      for (const [, own] of Map.groupBy(items, ({ holder }) => holder)) {
        const got = own.filter((each) => chosen.has(each));
        if (own.length <= Math.floor(most / 3)) assert.equal(got.length, own.length);
        assert.deepEqual(got, own.slice(0, got.length), 'the first ones');
      }
    }),
  );
});
