import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { printCarefully, stringifyYaml } from './yaml-body.ts';

const PARTS = [
  'a',
  'web',
  '1',
  '0',
  '.5',
  ' ',
  ': ',
  '#',
  '\n',
  '-',
  '/',
  '"',
  "'",
  'true',
  'null',
  '~',
  '<<',
  '{',
  '0x1',
  '2026-01-02',
  '\t',
  'é',
  'long words that are many',
];
const text = fc.array(fc.constantFrom(...PARTS), { maxLength: 8 }).map((parts) => parts.join(''));
const leaf = fc.oneof(
  text,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(text, tie('tree'), { maxKeys: 4 }),
  ),
}));

test('the fast printer gives the same text as the full one', () => {
  fc.assert(
    fc.property(tree, (value) => assert.equal(stringifyYaml(value), printCarefully(value))),
    { numRuns: 1_000, seed: 7 },
  );
});

test('a member that is undefined is not printed', () => {
  assert.equal(stringifyYaml({ a: undefined, b: { c: undefined, d: 'e' } }), 'b:\n  d: e\n');
});
