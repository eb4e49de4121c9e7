import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { plainPattern } from './plain-pattern.ts';

test('property: a plain pattern matches what RE2 matches', () => {
  const atom = fc.constantFrom('a', 'Z', '0', ' ', '_', '/', ':', String.raw`\.`, '[a-z]', '[-a-z0-9]', '[A-Za-z_.-]');
  const repeat = fc.constantFrom('', '*', '+', '?', '{2}', '{1,3}', '{0,63}');
  const pattern = fc
    .tuple(fc.array(atom, { maxLength: 4 }), atom, repeat, fc.array(atom, { maxLength: 4 }), fc.constantFrom('', '$'))
    .map(([before, repeated, times, after, end]) => `^${before.join('')}${repeated}${times}${after.join('')}${end}`);
  const text = fc.string({
    unit: fc.constantFrom('a', 'Z', '0', ' ', '-', '.', '_', '/', '\n', 'é', '😀'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(pattern, text, (source, against) => {
      const plain = plainPattern(source);
      assert.ok(plain !== undefined, source);
      assert.equal(plain.test(against), RE2JS.compile(source).test(against), `${source} on ${JSON.stringify(against)}`);
    }),
    { numRuns: 500 },
  );
});

test('a pattern that may take more than linear time, or that RE2 reads differently, is not plain', () => {
  const others = [
    '[a-z]*$',
    '^a*a*$',
    '^(a+)+$',
    '^a|b$',
    '^.*$',
    String.raw`^\d+$`,
    String.raw`^\pL$`,
    '^[^a]$',
    '^[[:alpha:]]$',
    '^a{1000}$',
    '^a*?$',
    '^[z-a]$',
    '^(?i)a$',
  ];
  assert.deepEqual(
    others.filter((each) => plainPattern(each) !== undefined),
    [],
  );
});
