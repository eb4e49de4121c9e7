import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { StatusError } from '@holdfast/machinery';
import { YAML_INTEGER_CHARS_MAX, YAML_TOKENS_MAX } from '../limits.ts';
import { parseYamlText, stringifyYaml, YamlSyntaxError } from './yaml.ts';

const refusedWith = (code: number, message: RegExp) => (error: unknown) =>
  error instanceof StatusError && error.code === code && message.test(error.message);

const isSyntaxError = (message: RegExp) => (error: unknown) =>
  error instanceof YamlSyntaxError && message.test(error.message);

test('anchors, aliases and merges are replaced; booleans are those of YAML 1.1', () => {
  const text = 'base: &b {a: 1, on: yes}\ncopy: *b\nmerged:\n  <<: *b\n  c: "2"\n';
  const base = { a: 1, true: true };
  assert.deepEqual(parseYamlText(text).value, { base, copy: base, merged: { ...base, c: '2' } });
  assert.deepEqual(parseYamlText('').value, null);
});

test('a duplicate key is reported with its line, and the last one applies', () => {
  const { value, duplicates } = parseYamlText('data:\n  a: first\n  b: x\n  a: last\n');
  assert.deepEqual(value, { data: { a: 'last', b: 'x' } });
  assert.deepEqual(duplicates, ['yaml: unmarshal errors:\n  line 4: key "a" already set in map']);
});

test('inner duplicate keys are reported first, each with the line of its value', () => {
  const text = 'a: {x: 1, x: 2}\nb: 1\na:\n  z: 1\n  z:\n  - 2\nb: 2\n1: q\n1: q\nyes: q\non: q\n';
  const lines = ['1: key "x"', '6: key "z"', '4: key "a"', '7: key "b"', '9: key 1', '11: key true'];
  assert.deepEqual(parseYamlText(text).duplicates, [
    ['yaml: unmarshal errors:', ...lines.map((line) => `  line ${line} already set in map`)].join('\n'),
  ]);
});

test('text that looks like a timestamp stays text', () => {
  const text = 'day: 2026-01-02\nmoment: 2026-01-02T03:04:05Z\nports: 22:22\nlong: 1:30:15.5\nlist: [1:30, 12]\n';
  assert.deepEqual(parseYamlText(text).value, {
    day: '2026-01-02',
    moment: '2026-01-02T03:04:05Z',
    ports: '22:22',
    long: '1:30:15.5',
    list: ['1:30', 12],
  });
});

test('JSON sent as YAML is parsed as JSON', () => {
  assert.deepEqual(parseYamlText('{"a": [1, "yes"]}'), { value: { a: [1, 'yes'] }, duplicates: [] });
  assert.deepEqual(parseYamlText('{"a": 1, "a": 2}').duplicates, [
    'yaml: unmarshal errors:\n  line 1: key "a" already set in map',
  ]);
  assert.deepEqual(parseYamlText('{a: b}').value, { a: 'b' });
});

test('documents that grow by their aliases, or contain themselves, are refused', () => {
  const doubling = Array.from({ length: 40 }, (_, i) => `a${i}: &a${i} [${i === 0 ? 'x,x' : `*a${i - 1},*a${i - 1}`}]`);
  assert.throws(() => parseYamlText(doubling.join('\n')), isSyntaxError(/excessive aliasing/));
  const many = `a: &a x\nb:\n${'- *a\n'.repeat(1_001)}`;
  assert.throws(() => parseYamlText(many), isSyntaxError(/excessive aliasing/));
  for (const cycle of ['a: &a {b: *a, c: *a}', 'x: &a y\na: &a {b: *a, c: *a}'])
    assert.throws(() => parseYamlText(cycle), isSyntaxError(/^yaml: anchor 'a' value contains itself$/), cycle);
  assert.throws(() => parseYamlText('a: *a'), isSyntaxError(/^yaml: unknown anchor 'a' referenced$/));
});

test('a text with many errors is refused with the first error and its line', () => {
  for (const text of [
    'a: b\n&a &b c',
    `a: b\n${'&a '.repeat(2_000)}`,
    `a: b\n${'!!str '.repeat(2_000)}`,
    `\n${']'.repeat(2_000)}`,
  ])
    assert.throws(() => parseYamlText(text), isSyntaxError(/^yaml: line 2: /), text.slice(0, 20));
});

test('the most common mistakes have the messages of Go', () => {
  const words = (text: string): string => {
    try {
      parseYamlText(text);
      return '';
    } catch (error) {
      return error instanceof YamlSyntaxError ? error.message : String(error);
    }
  };
  assert.equal(words('a: b: c'), 'yaml: mapping values are not allowed in this context');
  assert.equal(words('x: y\na: b: c'), 'yaml: line 2: mapping values are not allowed in this context');
  assert.equal(words('a:\n\tb: 1'), 'yaml: line 2: found character that cannot start any token');
});

test('documents with too many tokens are 413', () => {
  assert.throws(
    () => parseYamlText('- a\n'.repeat(YAML_TOKENS_MAX / 4 + 1)),
    refusedWith(413, /send the object as JSON/),
  );
});

test('an integer with too many digits is refused, wherever it stands and however it is written', () => {
  const limit = new RegExp(`^yaml: line 2: an integer has \\d+ characters, the limit is ${YAML_INTEGER_CHARS_MAX}$`);
  const digits = '1'.repeat(YAML_INTEGER_CHARS_MAX + 1);
  for (const text of [
    `b: ${digits}`,
    `b: -${digits}`,
    `b: ${'1_'.repeat(YAML_INTEGER_CHARS_MAX / 2)}1`,
    `b: 0x${digits}`,
    `b: 0b${digits}`,
    `b: 0${digits}`,
    `b: !!int "${digits}"`,
    `b: !!int |-\n  ${digits}`,
    `${digits}: b`,
    `b: [1, {c: ${digits}}]`,
  ])
    assert.throws(() => parseYamlText(`a: 1\n${text}\n`), isSyntaxError(limit), text.slice(0, 20));
  const { value } = parseYamlText(
    `int64: 9223372036854775807\nlong: ${'0'.repeat(YAML_INTEGER_CHARS_MAX - 2)}19\nfloat: 0.${digits}\ntext: "${digits}"\n`,
  );
  assert.deepEqual(value, {
    int64: 9223372036854775807n,
    long: 19,
    float: Number(`0.${digits}`),
    text: digits,
  });
});

test('deeply nested texts are refused, and unknown tags are not printed', (t) => {
  const print = t.mock.method(process, 'emitWarning');
  for (const deep of ['['.repeat(10_001), `a: ${'{a: '.repeat(10_001)}`])
    assert.throws(() => parseYamlText(deep), isSyntaxError(/^yaml: exceeded max depth of 10000$/));
  assert.deepEqual(parseYamlText('a: !unknown b').value, { a: 'b' });
  assert.equal(print.mock.callCount(), 0);
});

test('an object is printed as in Go', () => {
  const shared = { port: 1 };
  const value = {
    z: [shared, shared],
    a: 'b: c',
    n: '42',
    t: '2026-01-02T03:04:05Z',
    on: '1e3',
    ip: '10.0.0.1',
    e: '',
    m: 'x\ny\n',
  };
  assert.equal(
    stringifyYaml(value),
    `a: 'b: c'\ne: ""\nip: 10.0.0.1\nm: |\n  x\n  y\nn: "42"\n"on": "1e3"\nt: "2026-01-02T03:04:05Z"\nz:\n- port: 1\n- port: 1\n`.replace(
      '\nn: ',
      '\n"n": ',
    ),
  );
});
