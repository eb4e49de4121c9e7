import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deepFreeze } from './deep.ts';
import { shareParts } from './share-parts.ts';

const read = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test('equal parts are shared, different parts keep their content', () => {
  const like = deepFreeze(read('{"a":{"b":[1,{"c":"x"}]},"d":[{"e":1},{"f":2}],"g":{"h":1}}'));
  const text = '{"a":{"b":[1,{"c":"x"}]},"d":[{"e":1},{"f":3}],"g":{"h":1,"i":2}}';
  const shared = shareParts(read(text), like);
  assert.equal(JSON.stringify(shared), text);
  assert.equal(shared['a'], like['a']);
  assert.equal((shared['d'] as unknown[])[0], (like['d'] as unknown[])[0]);
  assert.notEqual(shared['g'], like['g']);
  assert.equal(shareParts(read('{"a":[]}'), deepFreeze(read('{"a":[]}')))['a'] instanceof Array, true);
});

test('frozen parts are not changed, and an equal value is replaced by the given one', () => {
  const like = deepFreeze(read('{"a":{"b":1}}'));
  assert.equal(shareParts(read('{"a":{"b":1}}'), like), like);
  const frozen = deepFreeze(read('{"a":{"b":1}}'));
  const outer = { x: frozen };
  assert.equal(shareParts(outer, deepFreeze({ x: { a: { b: 1 } } })).x, frozen);
});

test('inherited members are ignored, and an own member with such a name is kept', () => {
  const text = '{"__proto__":{"a":1},"constructor":{"b":1},"toString":1}';
  for (const like of [{}, read(text), read('{"__proto__":{"a":2}}')]) {
    const shared = shareParts(read(text), deepFreeze(like));
    assert.equal(JSON.stringify(shared), text);
    assert.equal(Object.getPrototypeOf(shared), Object.prototype);
  }
});

test('any value keeps its text, whatever it is compared with', () => {
  fc.assert(
    fc.property(fc.json(), fc.json(), (value, like) => {
      const frozen = deepFreeze(JSON.parse(like) as unknown);
      assert.equal(JSON.stringify(shareParts(JSON.parse(value), frozen)), JSON.stringify(JSON.parse(value)));
      assert.equal(JSON.stringify(frozen), JSON.stringify(JSON.parse(like)));
      assert.equal(JSON.stringify(shareParts(JSON.parse(like), frozen)), JSON.stringify(frozen));
    }),
    { numRuns: 300 },
  );
});
