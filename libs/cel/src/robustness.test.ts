import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type CelType,
  compileExpression,
  DYN,
  fromJson,
  INT,
  kubernetesEnvironment,
  listOf,
  PER_CALL_LIMIT,
  STRING,
} from './index.ts';
import { Meter } from './meter.ts';
import { matches, patternProblem } from './patterns.ts';

const environment = kubernetesEnvironment(
  new Map<string, CelType>([
    ['x', DYN],
    ['s', STRING],
    ['l', listOf(INT)],
  ]),
);

function run(source: string, text = 'a') {
  const compiled = compileExpression(source, environment);
  if (compiled.program === undefined) return { message: compiled.message, cost: 0 };
  const values = new Map([
    ['x', fromJson({ a: [1, 'b', null, 2.5, { c: true }] }, DYN)],
    ['s', text],
    ['l', fromJson([1, 2, 3], listOf(INT))],
  ]);
  const outcome = compiled.program.evaluate((name) => values.get(name));
  return { message: outcome.error?.message ?? '', cost: outcome.cost };
}

test('patterns that backtrack elsewhere take linear time', () => {
  const text = `${'a'.repeat(50_000)}!`;
  for (const pattern of ['(a+)+$', '(a|aa)+$', '(.*a){12}$', '([a-zA-Z]+)*$', '^(a?){50}a{50}$']) {
    assert.doesNotThrow(() => matches(text, pattern, new Meter(Infinity)), pattern);
    assert.equal(compileExpression(`s.matches('${pattern}')`, environment).issues, undefined, pattern);
  }
});

test('patterns that would grow too large are refused before they are compiled', () => {
  for (const pattern of ['(x{1000}){1000}', 'x{1000}'.repeat(100), '('.repeat(5_000) + ')'.repeat(5_000)]) {
    assert.match(patternProblem(pattern) ?? '', /error parsing regexp/);
  }
});

test('deep, long and wide expressions are refused or terminate, without an exception', () => {
  const hostile = [
    `${'('.repeat(5_000)}1${')'.repeat(5_000)}`,
    `${'!'.repeat(20_000)}true`,
    `${'-'.repeat(20_001)}1`,
    `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
    Array.from({ length: 30_000 }, () => '1').join('+'),
    Array.from({ length: 30_000 }, () => 'true').join('&&'),
    `x${'.a'.repeat(5_000)}`,
    `${'true ? '.repeat(2_000)}1${' : 1'.repeat(2_000)}`,
    'a'.repeat(200_000),
  ];
  for (const source of hostile) assert.notEqual(run(source).message, '', source.slice(0, 40));
});

test('an expression with growing values is stopped by its cost limit', () => {
  const nested =
    'l.map(a, l.map(b, l.map(c, l.map(d, l.map(e, l.map(f, l.map(g, l.map(h, l.map(i, l.map(j, l.map(k, a)))))))))))';
  assert.match(run(`${nested}.size() > 0`).message, /cost limit exceeded/);
  const text = 'b'.repeat(100_000);
  const sum = Array.from({ length: 200 }, () => 's').join(' + ');
  assert.match(run(`(${sum}).contains('c') && (${sum}) == ''`, text).message, /cost limit exceeded/);
});

const word = fc.constantFrom(
  ...'x s l self 1 2u 1.5 "a" b"c" true null [ ] { } ( ) . , ? : && || ! - + * / % < <= == != in all exists map filter has size matches format optMap a.b .?a [?0] duration timestamp type dyn int string quantity ip cidr url'.split(
    ' ',
  ),
);

test('no input makes the engine throw or exceed its cost limit', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const { cost } = run(words.join(' '));
      assert.ok(cost <= PER_CALL_LIMIT * 2);
    }),
    { numRuns: 2_000, seed: 7 },
  );
});

const leaf = fc.constantFrom('x', 's', 'l', '1', "'a'", 'true', 'x.a', 'l[0]', '2.5', 'null', "b'a'", 'duration("1s")');
const expression = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    leaf,
    fc
      .tuple(tie('node'), fc.constantFrom('+', '-', '*', '/', '%', '==', '<', '&&', '||', 'in'), tie('node'))
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc
      .tuple(tie('node'), fc.constantFrom('all', 'exists', 'map', 'filter', 'exists_one'), tie('node'))
      .map(([a, macro, b]) => `${a}.${macro}(v, ${b})`),
    fc.tuple(tie('node'), tie('node'), tie('node')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    fc
      .tuple(fc.constantFrom('size', 'string', 'int', 'type', 'dyn', 'double'), tie('node'))
      .map(([name, a]) => `${name}(${a})`),
    fc.array(tie('node'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
  ),
})).node;

test('well-formed expressions are refused, fail or return a value; they never throw', () => {
  fc.assert(
    fc.property(expression, (source) => {
      run(source);
    }),
    { numRuns: 3_000, seed: 11 },
  );
});
