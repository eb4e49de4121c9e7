import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { SortedKeys } from './sorted-keys.ts';

test('sorted keys answer ranges like a sorted array does', () => {
  const key = fc.tuple(fc.constantFrom('a/', 'b/', 'bb/'), fc.nat(2_000)).map(([group, n]) => `${group}${n}`);
  const edit = fc.record({ key, add: fc.boolean() });
  const query = fc.record({
    prefix: fc.constantFrom('', 'a/', 'b', 'b/', 'c/'),
    after: fc.option(key, { nil: undefined }),
    limit: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 3_000, size: 'max' }), fc.array(query), (edits, queries) => {
      const keys = new SortedKeys();
      const model = new Set<string>();
      for (const step of edits) {
        if (step.add) keys.add(step.key);
        else keys.delete(step.key);
        if (step.add) model.add(step.key);
        else model.delete(step.key);
      }
      for (const { prefix, after, limit } of queries) {
        const all = [...model]
          .toSorted()
          .filter((one) => one.startsWith(prefix) && (after === undefined || one > after));
        const expected = { keys: all.slice(0, limit), more: limit !== undefined && all.length > limit };
        assert.deepEqual(keys.range({ prefix, after, limit }), expected);
      }
    }),
    { numRuns: 60 },
  );
});
