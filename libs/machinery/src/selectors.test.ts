import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseFieldSelector } from './field-selectors.ts';
import { parseLabelSelector } from './selector-parse.ts';
import { compileLabelMap, compileLabelSelector, formatLabelSelector, NOTHING } from './selectors.ts';

test('label selectors select', () => {
  const cases: readonly [string, Readonly<Record<string, string>>, boolean][] = [
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a==b,c!=d', { a: 'b' }, true],
    ['c!=d', { c: 'd' }, false],
    ['e in (x,y)', { e: 'y' }, true],
    ['e in (x,y)', {}, false],
    ['g notin (x)', {}, true],
    ['g notin (x)', { g: 'x' }, false],
    ['!f', {}, true],
    ['!f', { f: '' }, false],
    ['f', { f: '' }, true],
    ['f=', { f: '' }, true],
    ['f in (,x)', { f: '' }, true],
    ['n>5', { n: '6' }, true],
    ['n>5', { n: '5' }, false],
    ['n>5', { n: 'six' }, false],
    ['n<5', { n: '-1' }, true],
    ['in=notin', { in: 'notin' }, true],
    ['constructor', {}, false],
    ['!constructor', {}, true],
    ['constructor!=x', {}, true],
    ['example.com/a = b', { 'example.com/a': 'b' }, true],
  ];
  for (const [text, labels, expected] of cases) {
    assert.equal(parseLabelSelector(text).matches(labels), expected, `${text} on ${JSON.stringify(labels)}`);
  }
});

test('invalid label selectors are refused with the messages of Kubernetes', () => {
  const cases: Readonly<Record<string, string>> = {
    'a===b': "unable to parse requirement: found '=', expected: identifier",
    '=a': "found '=', expected: !, identifier, or 'end of string'",
    'a=b,': "found '', expected: identifier after ','",
    'a b': "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
    'a=b c': "found 'c', expected: ',' or 'end of string'",
    'a in b': "unable to parse requirement: found 'b' expected: '('",
    'a in (b c)': "unable to parse requirement: found 'c', expected: ',' or ')'",
    'a in ()':
      "unable to parse requirement: values: Invalid value: []string{}: for 'in', 'notin' operators, values set can't be empty",
    'a>x': `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
    '!': "unable to parse requirement: found '', expected: identifier",
  };
  for (const [text, message] of Object.entries(cases)) assert.throws(() => parseLabelSelector(text), { message }, text);
  assert.throws(
    () => parseLabelSelector('a=b%c'),
    /^SelectorError: unable to parse requirement: values\[0\]\[a\]: Invalid value: "b%c": a valid label must be/,
  );
  assert.throws(
    () => parseLabelSelector('-a=b'),
    /^SelectorError: unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of/,
  );
});

test('a compiled selector exposes its exact pairs and its canonical text', () => {
  const selector = parseLabelSelector('z notin (b,a), x=1,y in (2),w in (4,3),!v,u');
  assert.deepEqual(selector.exactPairs, [
    ['x', '1'],
    ['y', '2'],
  ]);
  assert.equal(selector.text, 'u,!v,w in (3,4),x=1,y in (2),z notin (a,b)');
});

test('any selector text parses back to itself', () => {
  const word = fc.stringMatching(/^[a-z]{1,4}$/);
  const requirement = fc.oneof(
    word,
    word.map((key) => `!${key}`),
    fc.tuple(word, fc.constantFrom('=', '==', '!='), word).map((parts) => parts.join('')),
    fc
      .tuple(word, fc.constantFrom('in', 'notin'), fc.uniqueArray(word, { minLength: 1 }))
      .map(([key, op, values]) => `${key} ${op} (${values.join(',')})`),
    fc
      .tuple(word, fc.constantFrom('<', '>'), fc.integer())
      .map(([key, op, n]) => `${key} ${op} ${n}`)
      .filter((text) => !text.includes('-')),
  );
  fc.assert(
    fc.property(fc.array(requirement), (requirements) => {
      const first = parseLabelSelector(requirements.join(','));
      assert.equal(parseLabelSelector(first.text).text, first.text);
    }),
  );
});

test('LabelSelector objects', () => {
  const selector = {
    matchLabels: { b: '2', a: '1' },
    matchExpressions: [{ key: 'c', operator: 'In', values: ['y', 'x'] }],
  };
  assert.equal(formatLabelSelector(selector), 'a=1,b=2,c in (x,y)');
  assert.equal(compileLabelSelector(selector).matches({ a: '1', b: '2', c: 'x' }), true);
  assert.equal(compileLabelSelector(selector).matches({ a: '1', b: '2' }), false);
  assert.equal(compileLabelSelector(undefined), NOTHING);
  assert.equal(compileLabelSelector({}).matches(undefined), true);
  assert.equal(formatLabelSelector({}), '<none>');
  assert.equal(formatLabelSelector({ matchExpressions: [{ key: 'c', operator: 'Like' }] }), '<error>');
  assert.equal(compileLabelMap({ a: '1' }).matches({ a: '1', z: '2' }), true);
});

test('field selectors', () => {
  const selector = parseFieldSelector('spec.nodeName=x,status.phase!=Running,metadata.name==a\\,b');
  const object: Readonly<Record<string, string>> = {
    'spec.nodeName': 'x',
    'status.phase': 'Pending',
    'metadata.name': 'a,b',
  };
  assert.equal(
    selector.matches((field) => object[field] ?? ''),
    true,
  );
  assert.equal(selector.requiredValue('spec.nodeName'), 'x');
  assert.equal(selector.requiredValue('status.phase'), undefined);
  assert.equal(selector.text, 'metadata.name=a\\,b,spec.nodeName=x,status.phase!=Running');
  assert.equal(parseFieldSelector('').empty, true);
  assert.throws(() => parseFieldSelector('a'), { message: "invalid selector: 'a'; can't understand 'a'" });
  assert.throws(() => parseFieldSelector('a=b=c'), {
    message: 'invalid field selector: unescaped character in value: 61',
  });
  assert.throws(() => parseFieldSelector('a=b\\x'), {
    message: 'invalid field selector: invalid escape sequence: \\x',
  });
});

const KEYS = ['a', 'b', 'c', 'd'];
const VALUES = ['1', '2', '3', 'x'];
const term = fc
  .tuple(
    fc.constantFrom(...KEYS),
    fc.constantFrom('=', '!=', 'in', 'notin', 'exists', '!', '>', '<'),
    fc.subarray(VALUES, { minLength: 1 }),
  )
  .map(([key, operator, values]) => {
    if (operator === 'exists') return key;
    if (operator === '!') return `!${key}`;
    if (operator === 'in' || operator === 'notin') return `${key} ${operator} (${values.join(',')})`;
    return `${key}${operator}${values.find((value) => value !== 'x') ?? '1'}`;
  });

test('thousands of requirements select the same objects as each of them alone', () => {
  // Enough requirements to leave the path that tests them one by one; no object has a `z` label.
  const others = Array.from({ length: 20 }, (_, index) => `!z${index}`);
  const labels = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES));
  fc.assert(
    fc.property(fc.array(term, { minLength: 1, maxLength: 6 }), labels, (terms, present) => {
      const each = terms.every((text) => parseLabelSelector(text).matches(present));
      assert.equal(parseLabelSelector([...terms, ...others].join(',')).matches(present), each, terms.join(','));
    }),
  );
});

test('a selector of thousands of requirements iterates over the labels of an object, not over the requirements', () => {
  const text = Array.from({ length: 7_000 }, (_, index) => `k${index}!=v`).join(',');
  const { matches } = parseLabelSelector(text);
  let looks = 0;
  const watched = new Proxy<Record<string, string>>(
    { app: 'web', tier: 'front' },
    {
      get: (target, key: string) => ((looks += 1), target[key]),
      getOwnPropertyDescriptor: (target, key) => ((looks += 1), Reflect.getOwnPropertyDescriptor(target, key)),
    },
  );
  assert.equal(matches(watched), true);
  assert.ok(looks < 20, `${looks} looks`);
});

test('a field is read once, however many requirements name it', () => {
  const { matches, requiredValue } = parseFieldSelector(
    Array.from({ length: 1_000 }, (_, i) => `spec.nodeName!=n${i}`).join(','),
  );
  let reads = 0;
  const read = (value: string) => (): string => {
    reads += 1;
    return value;
  };
  assert.equal(matches(read('other')), true);
  assert.equal(matches(read('n7')), false);
  assert.equal(reads, 2);
  assert.equal(requiredValue('spec.nodeName'), undefined);
  const both = parseFieldSelector('a=1,a=2');
  assert.equal(
    both.matches(() => '1'),
    false,
  );
  assert.equal(both.requiredValue('a'), '1');
});
