import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyJson, deepEqual, deepFreeze, semanticEqual } from './deep.ts';
import { exactInteger, parseCompactJson, parseExactJson, parseLongIntegers } from './exact-json.ts';
import { compareElements, normalizeElement } from './fieldpath/element.ts';
import { sortedJson } from './json.ts';
import { parseJson } from './json-decode.ts';

const LARGE = '9223372036854775807';
const SMALL = '-9223372036854775808';

test('an integer is a bigint exactly when a double cannot hold it and 64 bits can', () => {
  const cases: readonly (readonly [text: string, value: number | bigint])[] = [
    ['0', 0],
    ['-0', -0],
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
    ['9007199254740992', 9_007_199_254_740_992n],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['-9007199254740993', -9_007_199_254_740_993n],
    [LARGE, 9_223_372_036_854_775_807n],
    [SMALL, -9_223_372_036_854_775_808n],
    ['9223372036854775808', 2 ** 63],
    ['-9223372036854775809', -(2 ** 63)],
    ['18446744073709551615', 2 ** 64],
    ['5.0', 5],
    ['1e3', 1000],
    ['1e16', 1e16],
    ['9007199254740993.0', 9_007_199_254_740_992],
    ['9007199254740993e0', 9_007_199_254_740_992],
    ['0.1234567890123456789', 0.123_456_789_012_345_68],
  ];
  for (const [text, value] of cases) {
    for (const parse of [parseExactJson, parseLongIntegers, (each: string) => parseJson(each).value]) {
      assert.deepEqual(parse(text), value, text);
      assert.deepEqual(parse(`{"a":[ ${text} ]}`), { a: [value] }, text);
    }
    assert.deepEqual(parseCompactJson(`[{"a":${text}},[${text}]]`), [{ a: value }, [value]], text);
  }
});

test('text that only looks like a long integer is unchanged', () => {
  const texts = [
    '{"a":"9007199254740993","9007199254740993":1}',
    '{"a":"\\"9007199254740993","b":":9007199254740993,[9007199254740993"}',
    '{"a":"\\\\","b":1}',
    '{"a":"𐀀9007199254740993"}',
  ];
  for (const text of texts) {
    const long = `{"long":9007199254740993,${text.slice(1)}`;
    const expected = { long: 9_007_199_254_740_993n, ...JSON.parse(text) };
    for (const parse of [parseExactJson, parseCompactJson, (each: string) => parseJson(each).value]) {
      assert.deepEqual(parse(long), expected, text);
    }
  }
});

test('an unpaired surrogate before digits stays text', () => {
  const text =
    '{"a":9007199254740993,"b":"\\ud8009007199254740993","c":"\\ud800\\udc00","d":"\\\\ud8009007199254740993"}';
  const value = {
    a: 9_007_199_254_740_993n,
    b: '\ufffd9007199254740993',
    c: '𐀀',
    d: '\\ud8009007199254740993',
  };
  assert.deepEqual(parseExactJson(text), value);
  assert.deepEqual(parseJson(text).value, value);
  assert.deepEqual(parseExactJson('{"a":9007199254740993,"b":"\ud8009007199254740993"}'), {
    a: 9_007_199_254_740_993n,
    b: '\ufffd9007199254740993',
  });
});

test('keys that name the prototype are plain data next to a long integer', () => {
  const value = parseExactJson('{"__proto__":9007199254740993,"constructor":{"__proto__":[9007199254740993]}}');
  assert.equal(JSON.stringify(value), '{"__proto__":9007199254740993,"constructor":{"__proto__":[9007199254740993]}}');
});

test('text that is not JSON is refused next to a long integer', () => {
  for (const text of [
    '{9007199254740993:1}',
    '[09007199254740993]',
    '[9007199254740993',
    '-',
    '[9007199254740993 1]',
  ]) {
    assert.throws(() => parseExactJson(text), SyntaxError, text);
    assert.throws(() => parseLongIntegers(text), SyntaxError, text);
  }
});

test('deeply nested text with a long integer does not overflow the stack', () => {
  const depth = 200_000;
  const text = `${'['.repeat(depth)}9007199254740993${']'.repeat(depth)}`;
  let value = parseExactJson(text);
  while (Array.isArray(value)) value = value[0] ?? null;
  assert.equal(value, 9_007_199_254_740_993n);
});

test('copies, comparisons and sorted text keep long integers', () => {
  const value = { b: [9_007_199_254_740_993n], a: { c: -9_007_199_254_740_993n } };
  assert.deepEqual(copyJson(value), value);
  assert.ok(deepEqual(deepFreeze(copyJson(value)), value));
  assert.ok(semanticEqual({ ...value, d: null }, value));
  assert.ok(!deepEqual(value, { ...value, b: [9_007_199_254_740_992n] }));
  assert.ok(!semanticEqual(value, { ...value, b: [9_007_199_254_740_992] }));
  assert.equal(sortedJson(value), '{"a":{"c":-9007199254740993},"b":[9007199254740993]}');
  assert.equal(
    JSON.stringify(value, undefined, 1),
    '{\n "b": [\n  9007199254740993\n ],\n "a": {\n  "c": -9007199254740993\n }\n}',
  );
});

test('items of a set of long integers have an order and a distinct text', () => {
  const ordered = [SMALL, '0.5', '1', '9007199254740992', '9007199254740993', LARGE].map((text) => `v:${text}`);
  assert.deepEqual(ordered.map(normalizeElement), ordered);
  assert.deepEqual(ordered.toReversed().sort(compareElements), ordered);
});

/** JSON with integers of 64 bits, as text without spaces. */
const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
  fc.bigInt({ min: -100n, max: 100n }),
);
/** Objects keep the order of keys that are not like indexes. */
const key = fc.oneof(
  fc.constant('__proto__'),
  fc.string().map((text) => `k${text}`),
);
const { document } = fc.letrec((tie) => ({
  document: fc.oneof(
    { maxDepth: 4 },
    integer.map(String),
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('null', 'true', '"9007199254740993"'),
    fc.array(tie('document')).map((items) => `[${items.join(',')}]`),
    fc.uniqueArray(fc.tuple(key, tie('document')), { selector: ([name]) => name }).map((members) => {
      const texts = members.map(([name, text]) => `${JSON.stringify(name)}:${String(text)}`);
      return `{${texts.join(',')}}`;
    }),
  ),
}));

test('every document with integers of 64 bits is serialized as it was parsed', () => {
  fc.assert(
    fc.property(document, (text) => {
      for (const parse of [
        parseExactJson,
        parseCompactJson,
        parseLongIntegers,
        (each: string) => parseJson(each).value,
      ]) {
        assert.equal(JSON.stringify(parse(`[${String(text)}]`)), `[${String(text)}]`);
      }
    }),
  );
});

test('an integer of any size has one form in memory', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), (value) => {
      assert.equal(exactInteger(value), parseExactJson(String(value)));
    }),
  );
});
