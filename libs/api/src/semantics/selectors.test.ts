import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LabelSelectorRequirement } from '../generated/types.ts';
import { mapSelectorOf, selectorOf } from './selectors.ts';

/** Names that every JavaScript object inherits, which are also valid label keys. */
const key = fc.constantFrom('constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'app', 'tier');
const value = fc.constantFrom('a', 'b');
const labels = fc.dictionary(key, value);
const expression: fc.Arbitrary<LabelSelectorRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: fc.array(value, { minLength: 1 }) }),
);

function holds(present: ReadonlyMap<string, string>, { key: name, operator, values = [] }: LabelSelectorRequirement) {
  const label = present.get(name);
  if (operator === 'Exists') return label !== undefined;
  if (operator === 'DoesNotExist') return label === undefined;
  const isIn = label !== undefined && values.includes(label);
  return operator === 'In' ? isIn : !isIn;
}

test('a selector ignores inherited properties of label maps', () => {
  fc.assert(
    fc.property(labels, labels, fc.array(expression), (present, matchLabels, matchExpressions) => {
      const of = new Map(Object.entries(present));
      const pairs = Object.entries(matchLabels).every(([name, wanted]) => of.get(name) === wanted);
      const expected = pairs && matchExpressions.every((each) => holds(of, each));
      assert.equal(selectorOf({ matchLabels, matchExpressions }).matches(present), expected);
      assert.equal(mapSelectorOf(matchLabels).matches(present), pairs && Object.keys(matchLabels).length > 0);
    }),
  );
});

test('an absent selector selects nothing, an empty one everything, an invalid one nothing', () => {
  assert.equal(selectorOf(undefined).matches({}), false);
  assert.equal(selectorOf({}).matches({}), true);
  assert.equal(selectorOf({ matchExpressions: [{ key: 'app', operator: 'Like' }] }).matches({ app: 'a' }), false);
});
