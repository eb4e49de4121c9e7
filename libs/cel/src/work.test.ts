import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BudgetExceeded,
  type CelType,
  compileExpression,
  DYN,
  fromJson,
  JoinedList,
  kubernetesEnvironment,
  listOf,
  MAX_LIST_JOINS,
  STRING,
  WORK_STEPS_BETWEEN_CHECKS,
} from './index.ts';

const SET: CelType = { kind: 'list', element: STRING, listType: 'set' };
const KEYED: CelType = { kind: 'list', element: DYN, listType: 'map', mapKeys: ['k'] };
const environment = kubernetesEnvironment(
  new Map<string, CelType>([
    ['x', DYN],
    ['sameAsX', DYN],
    ['l', listOf(STRING)],
    ['set', SET],
    ['equalSet', SET],
    ['equalKeyed', KEYED],
    ['otherKeyed', KEYED],
    ['keyed', KEYED],
  ]),
);
const NAMES = Array.from({ length: 1_000 }, (_, index) => `name-${index}`);
const LONG = 'a'.repeat(10_000);

const keyed = (names: readonly string[]) => names.map((k) => ({ k }));

function run(source: string, x: unknown = null, l: readonly string[] = NAMES) {
  const compiled = compileExpression(source, environment);
  if (compiled.program === undefined) throw new Error(compiled.message);
  const values = new Map([
    ['x', fromJson(x, DYN)],
    ['sameAsX', fromJson(x, DYN)],
    ['l', fromJson(l, listOf(STRING))],
    ['set', fromJson(l, SET)],
    ['equalSet', fromJson(l, SET)],
    ['keyed', fromJson(keyed(l), KEYED)],
    ['equalKeyed', fromJson(keyed(l), KEYED)],
    ['otherKeyed', fromJson(keyed(l.map((name) => `other-${name}`)), KEYED)],
    [
      'keyed',
      fromJson(
        l.map((k) => ({ k })),
        KEYED,
      ),
    ],
  ]);
  return compiled.program.evaluate((name) => values.get(name));
}

function refusal(source: string, x?: unknown, l?: readonly string[]): string {
  const { error } = run(source, x, l);
  if (error instanceof BudgetExceeded) return error.message;
  return assert.fail(`${source.slice(0, 60)}: ${error?.message ?? 'no error'}`);
}

/** `start` in a list in a list ...: two items at each level, and 2^levels values in all. */
const doubled = (start: string, levels: number): string =>
  levels === 0 ? start : `[${doubled(start, levels - 1)}].map(v, [v, v])[0]`;

test('values that contain each other many times are compared up to the limit of steps', () => {
  const TOO_MANY = /evaluation takes too many steps/;
  assert.match(refusal(`${doubled('[x]', 40)} == ${doubled('[x]', 40)}`, 1), TOO_MANY);
  assert.match(refusal(`${doubled('{"k": x}', 40)} != ${doubled('{"k": x}', 40)}`, 1), TOO_MANY);
  assert.match(refusal(`${doubled('[x]', 40)} in [${doubled('[x]', 40)}]`, 1), TOO_MANY);
  assert.match(refusal(`[${doubled('[x]', 40)}].indexOf(${doubled('[x]', 40)}) == 0`, 1), TOO_MANY);
  assert.match(refusal(`sets.contains([${doubled('[x]', 40)}], [${doubled('[x]', 40)}])`, 1), TOO_MANY);
  assert.match(refusal(`optional.of(${doubled('[x]', 40)}) == optional.of(${doubled('[x]', 40)})`, 1), TOO_MANY);
  assert.match(refusal(`'%s'.format([${doubled('[x]', 40)}]) == ''`, 1), TOO_MANY);
  assert.match(refusal(`'%s'.format([${doubled('{1: x}', 40)}]) == ''`, 1), TOO_MANY);
});

test('a list cannot double its size forever', () => {
  const sum = (start: string, times: number): string =>
    times === 0 ? start : `[${sum(start, times - 1)}].map(v, v + v)[0]`;
  assert.match(refusal(`${sum('l', 20)}.size() > 0`), /more than 1000000 items/);
  assert.equal(run(`${sum('l', 9)}.size()`).value, 512_000n);
  const half = Array.from({ length: 600_000 }, () => 'a');
  for (const list of ['set', 'keyed']) {
    assert.match(refusal(`(${list} + ${list}).size() > 0`, null, half), /more than 1000000 items/);
  }
});

test('a long sum of lists is flattened, so that each item is found quickly', () => {
  const sum = Array.from({ length: MAX_LIST_JOINS * 2 }, (_, index) => `[${index}]`).join(' + ');
  const { value } = run(sum);
  assert.ok(value instanceof JoinedList && value.joins <= MAX_LIST_JOINS);
  assert.equal(value.size, MAX_LIST_JOINS * 2);
  assert.deepEqual([value.at(3), value.at(MAX_LIST_JOINS * 2 - 1)], [3n, 127n]);
});

test('a text cannot grow beyond what `+` could make', () => {
  const TOO_LONG = /more than 10000000 characters/;
  const text = [LONG];
  assert.match(refusal(`l[0].replace('a', l[0])`, null, text), TOO_LONG);
  assert.match(refusal(`l[0].replace('', l[0])`, null, text), TOO_LONG);
  assert.equal(run(`l[0].replace('a', l[0], 2).size()`, null, text).value, 29_998n);
  assert.equal(run(`l[0].replace('a', '').size()`, null, text).value, 0n);
  assert.match(refusal(`l.map(v, x).join() == ''`, LONG, NAMES.concat(NAMES)), TOO_LONG);
  assert.match(refusal(`l.join(x) == ''`, LONG), TOO_LONG);
  assert.match(refusal(`'%s'.format([l.map(v, x)]) == ''`, LONG, NAMES.concat(NAMES)), TOO_LONG);
  assert.match(refusal(`'%s%s'.format([l.map(v, x), l.map(v, x)]) == ''`, LONG.slice(0, 6_000)), TOO_LONG);
});

test('work of a constant cost is counted', () => {
  const TOO_MANY = /evaluation takes too many steps/;
  const many = NAMES.flatMap((name) => Array.from({ length: 10 }, () => name));
  assert.match(refusal('l.all(v, size(x) > 0)', 'a'.repeat(100_000), many), TOO_MANY);
  assert.match(refusal('l.all(v, (set + set).size() > 0)', null, NAMES.concat(NAMES).concat(NAMES)), TOO_MANY);
  assert.match(refusal('l.all(v, (keyed + keyed).size() > 0)', null, NAMES.concat(NAMES).concat(NAMES)), TOO_MANY);
  assert.match(refusal('l.all(v, set == equalSet)', null, NAMES.concat(NAMES).concat(NAMES)), TOO_MANY);
  assert.match(refusal('l.all(v, keyed == equalKeyed)', null, NAMES.concat(NAMES).concat(NAMES)), TOO_MANY);
  assert.match(refusal('l.all(v, keyed != otherKeyed)', null, NAMES.concat(NAMES).concat(NAMES)), TOO_MANY);
  assert.match(refusal(`'%s'.format([${'['.repeat(20)}x${']'.repeat(20)}])`, 'a'.repeat(4_000_000)), TOO_MANY);
  assert.match(refusal('l.all(v, x.exists(k, true))', Object.fromEntries(many.map((_, i) => [i, 1])), many), TOO_MANY);
  assert.match(refusal('l.all(v, [x, x].isSorted())', 'a'.repeat(100_000)), TOO_MANY);
  assert.match(refusal('l.map(v, [x, x].max())', 'a'.repeat(100_000)), TOO_MANY);
});

test('matching and finding a pattern is work by its instructions, compiling one is work too', () => {
  const TOO_MANY = /evaluation takes too many steps/;
  const text = 'ab'.repeat(20_000);
  assert.match(refusal("x.matches('(a|b)*a(a|b){900}c')", `c${text}`), TOO_MANY);
  assert.match(refusal("x.find('(a|b)*a(a|b){900}c') == ''", `c${text}`), TOO_MANY);
  assert.match(refusal("x.find('(a|b){900}') == ''", text), TOO_MANY);
  assert.match(refusal("l.all(v, x.findAll('(a|b){300}').size() > 0)", text.slice(0, 2_000)), TOO_MANY);
  assert.match(
    refusal(
      "l.all(p, 'a'.matches(p) || true)",
      null,
      NAMES.map((name) => `(${name}|b){300}`),
    ),
    TOO_MANY,
  );
  assert.equal(run("x.matches('^[ab]*$') && x.find('b+').size() == 1", text).value, true);
  assert.equal(run("l.all(v, v.matches('^([a-z]+-)?[0-9]+$'))").value, true);
  assert.equal(run("x.findAll('ab').size()", text).value, 20_000n);
});

test('the patterns of one environment are compiled up to a weight, known ones included', () => {
  const problem = (source: string): string | undefined => {
    const compiled = compileExpression(source, kubernetesEnvironment(new Map()));
    return compiled.program === undefined ? compiled.message : undefined;
  };
  const large = (index: number): string => `'a'.matches('(?:${index}a){999}')`;
  const any = (count: number, make = large): string =>
    Array.from({ length: count }, (_, i) => make(i + 10)).join(' || ');
  for (const _ of ['new', 'known']) {
    assert.match(problem(any(60)) ?? '', /invalid matches argument/);
    assert.equal(problem(any(10)), undefined);
    assert.equal(problem(any(60, () => large(10))), undefined);
  }
  assert.match(problem(`'a'.matches('${'a{0,1000}'.repeat(10)}')`) ?? '', /invalid matches argument/);
});

test('finding looks at the clock after each match, because a match may read the whole text', () => {
  const { program } = compileExpression("x.findAll('a(?:.*b)?').size() > 0", environment);
  let looks = 0;
  const now = (): number => (++looks > 5 ? 2 : 0);
  const outcome = program?.evaluate(() => 'a'.repeat(100), { now, deadline: 1 });
  assert.match(outcome?.error?.message ?? '', /took too long/);
});

test('an honest expression within its cost limit stays within the limit of steps', () => {
  const pairs = NAMES.slice(0, 300);
  assert.equal(run('l.all(a, l.exists(b, b == a))', null, pairs).value, true);
  assert.equal(run('sets.equivalent(l, l)', null, NAMES.slice(0, 700)).value, true);
  assert.equal(run('l.all(v, x == sameAsX)', { spec: NAMES }).value, true);
});

test('the clock is looked at before an evaluation, and after some work', () => {
  const variables = new Map<string, CelType>([
    ['x', DYN],
    ['y', DYN],
  ]);
  const { program } = compileExpression('x == y && y == x', kubernetesEnvironment(variables));
  const items = Array.from({ length: WORK_STEPS_BETWEEN_CHECKS }, (_, index) => index);
  let looks = 0;
  const refusalAt = (lateAt: number): string => {
    looks = 0;
    const now = (): number => (++looks >= lateAt ? 2 : 0);
    return program?.evaluate(() => fromJson(items, DYN), { now, deadline: 1 }).error?.message ?? '';
  };
  assert.match(refusalAt(1), /took too long/);
  assert.equal(looks, 1);
  assert.match(refusalAt(2), /took too long/);
  assert.equal(refusalAt(Infinity), '');
  assert.equal(looks, 3);
});
