import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalJson, isSame } from './hash.ts';

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(undefined, null, 0, 1, 'a', '', true, false),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
  ),
}));

test('values are equal when their canonical texts are', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      assert.equal(isSame(a, b), canonicalJson(a) === canonicalJson(b));
      assert.ok(isSame(a, structuredClone(a)));
    }),
    { numRuns: 2_000 },
  );
});
