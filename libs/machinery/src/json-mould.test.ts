import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Json } from './json.ts';
import { JsonMould } from './json-mould.ts';

const learnt = (first: string, second: string): JsonMould => {
  const mould = JsonMould.of(first).widened(second);
  assert.ok(mould !== undefined, 'the two texts differ in string values only');
  return mould;
};

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen));

test('a text that differs in strings parses as with JSON.parse, and shares its other parts', () => {
  const text = (name: string, node: string): string =>
    `{"metadata":{"name":"${name}","labels":{"app":"a"}},"spec":{"list":["x",{"node":"${node}"},[1,null]]},"status":{"a":{"b":2}}}`;
  const mould = learnt(text('one', 'n1'), text('two', 'n22'));
  const third = mould.parse(text('', 'n\\tü')) as Record<string, unknown>;
  assert.equal(JSON.stringify(third), text('', 'n\\tü'));
  assert.ok(isDeepFrozen(third));
  const fourth = mould.parse(text('four', 'n4')) as Record<string, unknown>;
  assert.equal(third['status'], fourth['status']);
  assert.notEqual(third['spec'], fourth['spec']);
});

test('parts that are equal to those of the text before are shared, though they have gaps', () => {
  const text = (name: string, time: string): string =>
    `{"metadata":{"name":"${name}"},"status":{"conditions":[{"type":"Ready","at":"${time}"}],"since":"${time}"}}`;
  const mould = learnt(text('one', 't1'), text('two', 't2'));
  const [third, fourth, fifth] = [text('3', 't'), text('4', 't'), text('4', 'u')].map(
    (each) => mould.parse(each) as Record<string, unknown>,
  );
  assert.equal(third?.['status'], fourth?.['status']);
  assert.notEqual(third?.['metadata'], fourth?.['metadata']);
  assert.equal(fourth?.['metadata'], fifth?.['metadata']);
  assert.deepEqual(fifth, JSON.parse(text('4', 'u')));
});

test('texts that differ in anything else do not match', () => {
  const mould = learnt('{"a":"x","b":1}', '{"a":"y","b":1}');
  for (const other of [
    '{"a":"x","b":2}',
    '{"a":1,"b":1}',
    '{"a":"x","b":1,"c":2}',
    '{"a":"x","b":1',
    '{"c":"x","b":1}',
  ])
    assert.equal(mould.parse(other), undefined, other);
  assert.equal(JsonMould.of('{"a":{"x":1}}').widened('{"a":{"y":1}}'), undefined);
  assert.equal(JsonMould.of('{"a":"b"}').widened('{"a":"b","c":"d"}'), undefined);
  // An escaped quote is not looked for.
  assert.equal(mould.parse('{"a":"\\"","b":1}'), undefined);
  assert.equal(JsonMould.of('{"a":"x"}').parse('{"a":"x"}'), undefined);
});

test('a mould that is widened again keeps its gaps', () => {
  const first = learnt('{"a":"1","b":"1","c":"1"}', '{"a":"2","b":"1","c":"1"}');
  assert.equal(first.parse('{"a":"3","b":"2","c":"1"}'), undefined);
  const second = first.widened('{"a":"1","b":"2","c":"1"}');
  assert.deepEqual(second?.parse('{"a":"3","b":"4","c":"1"}'), { a: '3', b: '4', c: '1' });
});

test('texts that differ in too many strings have no mould', () => {
  const text = (what: string): string => JSON.stringify(Array.from({ length: 65 }, (_, i) => `${what}${i}`));
  assert.equal(JsonMould.of(text('a')).widened(text('b')), undefined);
});

test('keys with spaces, prototype names, repeated keys and marks in the text are handled', () => {
  const pairs = [
    ['{"k1" :1,"a":"x"}', '{"k2" :1,"a":"y"}'],
    ['{"a":"\\u00010","b":"x"}', '{"a":"\\u00010","b":"y"}'],
    ['{"a":"x","a":0,"b":"\\u00010"}', '{"a":"y","a":0,"b":"\\u00010"}'],
    ['{"a":"x","a":"1"}', '{"a":"y","a":"1"}'],
    ['{"__proto__":{"a":"x"},"b":{}}', '{"__proto__":{"a":"y"},"b":{}}'],
    ['{"__proto__":"x"}', '{"__proto__":"y"}'],
    ['{"a":"\\\\","b":"\\"\\\\"}', '{"a":"\\\\\\\\","b":"\\"\\\\"}'],
  ] as const;
  for (const [one, two] of pairs) {
    const mould = JsonMould.of(one).widened(two);
    for (const text of [one, two]) {
      const value = mould?.parse(text);
      if (value !== undefined) assert.equal(JSON.stringify(value), JSON.stringify(JSON.parse(text)), text);
    }
  }
});

test('a matching text has the value of JSON.parse', () => {
  const sometimesOther = (value: Json, pick: () => number): Json => {
    if (typeof value === 'string') return pick() % 2 === 0 ? value : ['', 'x', '"', '\\', 'ü\u0001', '}'][pick() % 6]!;
    if (typeof value !== 'object' || value === null) return pick() % 9 === 0 ? 7 : value;
    if (Array.isArray(value)) return value.map((item: Json) => sometimesOther(item, pick));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, sometimesOther(item, pick)]));
  };
  let fitted = 0;
  const property = fc.property(fc.jsonValue({ maxDepth: 3 }), fc.array(fc.nat(), { minLength: 4 }), (value, picks) => {
    let at = 0;
    const pick = (): number => picks[at++ % picks.length] ?? 0;
    const [one, two, three] = [0, 1, 2].map((i) =>
      JSON.stringify(i === 0 ? value : sometimesOther(value as Json, pick)),
    );
    const mould = JsonMould.of(one ?? '').widened(two ?? '');
    for (const text of [one, two, three]) {
      const parsed = mould?.parse(text ?? '');
      if (parsed === undefined) continue;
      fitted += 1;
      assert.equal(JSON.stringify(parsed), JSON.stringify(JSON.parse(text ?? '')));
    }
  });
  fc.assert(property, { numRuns: 500, seed: 7 });
  assert.ok(fitted > 100, `${fitted} texts fitted`);
});
