import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesSubject } from '../subjects.ts';
import { createPatternIndex } from './pattern-index.ts';

const subjects = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 });
const patterns = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', '*'), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([tokens, open]) => (open ? [...tokens, '>'] : tokens).join('.'));

function matches(index: ReturnType<typeof createPatternIndex<number>>, subject: string): number[] {
  const found = new Set<number>();
  index.match(subject, (entry) => found.add(entry));
  return [...found].toSorted((a, b) => a - b);
}

test('the index finds exactly the patterns that matchesSubject accepts, also after removals', () => {
  fc.assert(
    fc.property(fc.array(patterns, { maxLength: 12 }), subjects, fc.nat(), (all, tokens, pick) => {
      const subject = tokens.join('.');
      const index = createPatternIndex<number>();
      for (const [entry, pattern] of all.entries()) index.add(pattern, entry);
      const expected = [...all.keys()].filter((entry) => matchesSubject(all[entry] ?? '', subject));
      assert.deepEqual(matches(index, subject), expected);
      const gone = all.length === 0 ? 0 : pick % all.length;
      index.remove(all[gone] ?? 'a', gone);
      assert.deepEqual(
        matches(index, subject),
        expected.filter((entry) => entry !== gone),
      );
    }),
  );
});

test('a match visits only branches of the subject, however many other patterns exist', () => {
  const index = createPatternIndex<number>();
  let looked = 0;
  for (let node = 0; node < 5000; node++) index.add(`k8s.ev.node.n${node}.pods.>`, node);
  index.match('k8s.ev.node.n7.pods.ns.p', () => {
    looked += 1;
  });
  assert.equal(looked, 1);
});
