import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Automaton, automatonOf } from './automaton.ts';
import { PATTERN_INSTRUCTIONS_MAX, PATTERN_WEIGHT_KEPT_MAX } from './limits.ts';
import { patternSize } from './pattern-size.ts';
import { crdRefusals } from './testing.ts';

/** The same copy of the engine. */
const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js');

function compiled(pattern: string): Automaton {
  const { automaton, problem } = automatonOf(pattern);
  return automaton ?? assert.fail(problem);
}

function stepsOf(automaton: Automaton, text: string): number {
  let sum = 0;
  automaton.test(text, (steps) => {
    sum += steps;
  });
  return sum;
}

/** A text of two letters without a period. */
function noise(chars: number): string {
  let seed = 1;
  const letter = (): string => ((seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) > 2 ** 30 ? 'a' : 'b');
  return `c${Array.from({ length: chars - 1 }, letter).join('')}`;
}

/** Each character of a noise leads to a new set of its states. */
const GROWING = '(a|b)*a(a|b){300}c';

test('a pattern that would be too large is refused before it is compiled', () => {
  const repeated = `(?:${'ab'.repeat(1_000)}){600}`;
  for (const pattern of ['a{0,1000}'.repeat(10), repeated, 'x{1000}'.repeat(11), '\\pL'.repeat(1_000)]) {
    const outcome = automatonOf(pattern, () => assert.fail('is compiled'));
    assert.deepEqual(outcome, { problem: 'error parsing regexp: expression too large' });
  }
  assert.equal(
    automatonOf('^\\pL{900}\\pN{900}\\pS{900}\\pZ{900}$').problem,
    'error parsing regexp: expression too large',
  );
  assert.ok(compiled("^[\\p{L}\\p{N}\\p{Zs} '.,-]{1,1000}$").instructions < 3_000);
  assert.ok(compiled('x{999}'.repeat(10)).instructions <= PATTERN_INSTRUCTIONS_MAX);
});

const PARTS =
  'a . [a-z] [^a] []a] [[:alpha:]] [[] [\\]] \\pL \\d \\Qa{3}\\E \\x41 \\x{1F600} \\101 (?i) { } ] {,3} ^ \\b k |'.split(
    ' ',
  );
const part = fc.constantFrom(...PARTS);
const repeat = fc.constantFrom('', '', '', '*', '+?', '??', '{3}', '{0,5}', '{2,}', '{1,40}?', '{0,300}', '{1001}');
const pattern = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.tuple(part, repeat).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('(', '(?:', '(?i:', '(?P<n>'), tie('node'), tie('node'), repeat)
      .map(([open, a, b, many]) => `${open}${a}${b})${many}`),
    fc.tuple(tie('node'), tie('node')).map((parts) => parts.join('')),
  ),
})).node;

test('the size of a pattern is found without compiling it, and its matches are those of the engine', () => {
  let sized = 0;
  fc.assert(
    fc.property(pattern, fc.stringMatching(/^[aAk{}3é\]]{0,12}$/), (source, text) => {
      const { instructions } = patternSize(source);
      if (instructions > 5_000) return;
      const { automaton } = automatonOf(source);
      if (automaton === undefined) return;
      sized += 1;
      assert.ok(automaton.instructions <= 1.5 * instructions + 8, `${automaton.instructions}, not ${instructions}`);
      assert.equal(
        automaton.test(text, () => {}),
        RE2JS.compile(source).test(text),
      );
    }),
    { numRuns: 3_000, seed: 5 },
  );
  assert.ok(sized > 1_000, `${sized} patterns`);
});

test('matching costs what it takes: little by tables, all instructions for each character without them', () => {
  const address = compiled(
    '^(([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|([0-9a-f]{1,4}:){1,7}:|([0-9a-f]{1,4}:){1,6}(:[0-9a-f]{1,4}))$',
  );
  const addresses = Array.from({ length: 500 }, (_, index) => `2001:db8:0:0:0:0:0:${index.toString(16)}`);
  const [first = ''] = addresses;
  assert.ok(stepsOf(address, first) > 20 * first.length, 'what the tables grow by is counted');
  assert.equal(stepsOf(address, first), first.length + 1);
  const sum = addresses.reduce((steps, text) => steps + stepsOf(address, text), 0);
  assert.ok(sum < 40_000, `${sum} steps`);

  const letters = compiled('(\\pL|b)*a(\\pL|b){3}c');
  assert.equal(stepsOf(letters, 'abab'), letters.instructions * 5);

  const growing = compiled(GROWING);
  const text = noise(20_000);
  const least = growing.instructions * text.length;
  assert.ok(stepsOf(growing, text) > least);
  assert.equal(stepsOf(growing, text), growing.instructions * (text.length + 1));
  assert.equal(stepsOf(growing, text), growing.instructions * (text.length + 1));
});

test('a match that costs too much ends before the engine simulates it', (t) => {
  const engine = Object.getPrototypeOf(RE2JS.compile('a').re2());
  const simulate = t.mock.method(engine, 'doExecuteNFA');
  let left = 200_000;
  const spend = (steps: number): void => {
    left -= steps;
    if (left < 0) throw new RangeError('too much');
  };
  for (const source of [`x?${GROWING}`, '(\\pL|b)*a(\\pL|b){300}c']) {
    left = 200_000;
    assert.throws(() => compiled(source).test(noise(10_000), spend), /too much/);
    assert.equal(simulate.mock.callCount(), 0);
  }
  left = Infinity;
  compiled(`x?${GROWING}`).test(noise(10_000), spend);
  assert.equal(simulate.mock.callCount(), 1);
});

test('finding spends what it has read, and looks up after each match', () => {
  const calls: string[] = [];
  const limits = {
    spend: (steps: number) => void calls.push(`spend ${steps}`),
    ensure: (steps: number) => void calls.push(`ensure ${steps}`),
    look: () => void calls.push('look'),
  };
  const digits = compiled('[0-9]+');
  const one = digits.instructions;
  assert.deepEqual(digits.find('a1b22', -1, limits), ['1', '22']);
  assert.deepEqual(calls, [
    `ensure ${6 * one}`,
    `spend ${3 * one}`,
    'look',
    `spend ${4 * one}`,
    'look',
    `spend ${one}`,
  ]);
  assert.deepEqual(digits.find('a1b22', 1, limits), ['1']);
});

test('patterns are kept up to a weight', () => {
  let compilations = 0;
  const use = (source: string): void => void automatonOf(source, () => (compilations += 1));
  use('kept[ab]');
  use('kept[ab]');
  assert.equal(compilations, 1);
  const large = Array.from({ length: 100 }, (_, index) => `(?:large${index}){990}`);
  for (const source of large) use(source);
  assert.ok(large.length * patternSize(large[0] ?? '').weight > PATTERN_WEIGHT_KEPT_MAX);
  compilations = 0;
  use('kept[ab]');
  assert.equal(compilations, 1);
});

test('the patterns of one definition compile in less than a second', () => {
  const withPatterns = (count: number, make: (index: number) => string) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'string', pattern: make(index) }]),
    ),
  });
  const large = (index: number): string => `^(?:a${index}){900}[bc]`;
  assert.match(crdRefusals(withPatterns(200, large)).join(), /Forbidden: must not have patterns that are so large/);
  assert.deepEqual(crdRefusals(withPatterns(200, () => large(0))), []);
  assert.match(
    crdRefusals(withPatterns(1, () => 'a{0,1000}'.repeat(10))).join(),
    /must be a valid regular expression, but isn't: error parsing regexp: expression too large/,
  );
});
