import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  QuantityError,
  quantityFromJson,
  subQuantities,
  value,
} from './quantity.ts';

test('a quantity prints in its canonical form', () => {
  const canonical: Readonly<Record<string, string>> = {
    '0': '0',
    '0Gi': '0',
    '-0': '0',
    '1000m': '1',
    '0.5': '500m',
    '1500m': '1500m',
    '2000': '2k',
    '1024Mi': '1Gi',
    '1536Mi': '1536Mi',
    '1.5Gi': '1536Mi',
    '1000Ki': '1000Ki',
    '0.5Ki': '512',
    '1e3': '1e3',
    '1E6': '1e6',
    '0.1e3': '100',
    '12e4': '120e3',
    '1.': '1',
    '.5': '500m',
    '+5': '5',
    '-1500m': '-1500m',
    '-2Gi': '-2Gi',
    '100E': '100E',
    '0.0000000001': '1n',
    '3.001n': '4n',
    '1000u': '1m',
    '007': '7',
    Mi: '0',
  };
  for (const [text, expected] of Object.entries(canonical)) assert.equal(canonicalQuantity(text), expected, text);
});

test('an amount beyond 63 bits is capped, and a huge exponent costs nothing', () => {
  assert.equal(canonicalQuantity('9Ei'), '9223372036854775807');
  assert.equal(canonicalQuantity('9223372036854775807Ki'), '9223372036854775807');
  assert.equal(value(parseQuantity('1e999999999')), Number((1n << 63n) - 1n));
  assert.equal(canonicalQuantity('1e-999999999'), '1e-9');
});

test('text that is not a quantity is refused with the messages of Kubernetes', () => {
  const format = /^quantities must match the regular expression '\^\(\[\+-\]\?\[0-9\.\]\+\)/;
  for (const text of ['', ' 1', '1 ', 'abc', '1.1.M', '1+1x', '0.1mi?', '1i?']) {
    assert.throws(
      () => parseQuantity(text),
      (error) => error instanceof QuantityError && format.test(error.message),
      text,
    );
  }
  for (const text of ['1i', '1+1', '--1', '.5i', '1e', '-3.01e-', '0.1mi', '1Gi1']) {
    assert.throws(() => parseQuantity(text), { message: "unable to parse quantity's suffix" }, text);
  }
});

test('helpers round away from zero', () => {
  assert.equal(milliValue(parseQuantity('0.0001')), 1);
  assert.equal(milliValue(parseQuantity('1500m')), 1500);
  assert.equal(value(parseQuantity('1500m')), 2);
  assert.equal(value(parseQuantity('-1500m')), -2);
  assert.equal(value(parseQuantity('2Gi')), 2147483648);
  assert.equal(formatQuantity(quantityFromJson(0.5)), '500m');
  assert.equal(formatQuantity(quantityFromJson(null)), '0');
});

test('an empty text in JSON is no quantity', () => {
  for (const text of ['', ' ']) assert.throws(() => quantityFromJson(text), QuantityError);
});

test('a zero takes the format of the other operand', () => {
  const zero = parseQuantity('0');
  assert.equal(formatQuantity(addQuantities(zero, parseQuantity('1Gi'))), '1Gi');
  assert.equal(formatQuantity(subQuantities(zero, parseQuantity('1Gi'))), '-1Gi');
  assert.equal(formatQuantity(addQuantities(parseQuantity('1Gi'), parseQuantity('24'))), '1073741848');
});

test('any printed quantity parses back to the same amount and the same text', () => {
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'e3', 'e-3', 'E6');
  fc.assert(
    fc.property(fc.integer(), fc.option(fc.nat(999999)), suffix, (whole, fraction, unit) => {
      const parsed = parseQuantity(`${whole}${fraction === null ? '' : `.${fraction}`}${unit}`);
      const text = formatQuantity(parsed);
      assert.equal(compareQuantities(parseQuantity(text), parsed), 0);
      assert.equal(canonicalQuantity(text), text);
    }),
  );
});

test('addition and subtraction are exact inverses', () => {
  const amount = fc
    .tuple(fc.integer(), fc.constantFrom('n', 'm', '', 'Ki', 'G'))
    .map(([n, s]) => parseQuantity(`${n}${s}`));
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      assert.equal(compareQuantities(subQuantities(addQuantities(a, b), b), a), 0);
    }),
  );
});

test('a cached amount does not retain the text that it was sliced from', () => {
  setFlagsFromString('--expose-gc');
  const heapBytes = (): number => {
    runInNewContext('gc()');
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  for (let i = 0; i < 64; i += 1) canonicalQuantity(`${' '.repeat(1_000_000)}${1_234_567_890_123 + i}`.trim());
  const kept = heapBytes() - before;
  assert.ok(kept < 16_000_000, `${kept} bytes`);
});
