import assert from 'node:assert/strict';
import test from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { RecentMap } from './recent-map.ts';

test('a full map evicts the least recently used entry', () => {
  const map = new RecentMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  assert.equal(map.touch('a'), 1);
  assert.equal(map.get('b'), 2);
  map.set('c', 3);
  assert.deepEqual([map.get('a'), map.get('b'), map.get('c'), map.size], [1, undefined, 3, 2]);
});

test('it holds the same entries as a list in LRU order after any operations', () => {
  const step = fc.record({ key: fc.nat(12), touches: fc.boolean() });
  const property = fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
    const map = new RecentMap<number, number>(max);
    let model: { key: number; value: number }[] = [];
    steps.forEach(({ key, touches }, value) => {
      const before = model.find((entry) => entry.key === key);
      if (touches) assert.equal(map.touch(key), before?.value);
      else map.set(key, value);
      if (touches && before === undefined) return;
      const entry = touches && before !== undefined ? before : { key, value };
      model = [...model.filter((other) => other.key !== key), entry].slice(-max);
      assert.deepEqual(
        Array.from({ length: 13 }, (_, each) => map.get(each)),
        Array.from({ length: 13 }, (_, each) => model.find((other) => other.key === each)?.value),
      );
    });
  });
  fc.assert(property);
});

test('repeated access to one entry takes no more memory', () => {
  setFlagsFromString('--expose-gc');
  const heapBytes = (): number => {
    runInNewContext('gc()');
    return process.memoryUsage().heapUsed;
  };
  const map = new RecentMap<number, number>(20_000);
  for (let key = 0; key < 1_000; key++) map.set(key, key);
  const before = heapBytes();
  for (let i = 0; i < 400_000; i++) map.touch(i % 1_000);
  const grown = heapBytes() - before;
  assert.ok(grown < 8_000_000, `${grown} bytes`);
  assert.equal(map.size, 1_000);
});
