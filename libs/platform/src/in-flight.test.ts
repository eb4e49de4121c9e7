import assert from 'node:assert/strict';
import test from 'node:test';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { InFlight } from './in-flight.ts';

test('it holds the same entries as a map after any operations', () => {
  const number = fc.oneof(
    fc.nat(6),
    fc.nat(6).map((each) => each + 1_024),
    fc.nat(6).map((each) => each + 5 * 1_024),
  );
  const step = fc.record({ number, deletes: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
    const things = new InFlight<{ readonly at: number }>();
    const model = new Map<number, { readonly at: number }>();
    steps.forEach(({ number: each, deletes }, at) => {
      if (deletes) assert.equal(things.delete(each), model.delete(each));
      else {
        things.set(each, { at });
        model.set(each, { at });
      }
      assert.equal(things.size, model.size);
    });
    const byNumber = (a: readonly [number, unknown], b: readonly [number, unknown]): number => a[0] - b[0];
    assert.deepEqual([...things.entries()].sort(byNumber), [...model].sort(byNumber));
    for (const each of model.keys()) assert.equal(things.get(each)?.at, model.get(each)?.at);
  });
  fc.assert(property);
});

test('each number is assigned once, and clear removes all entries', () => {
  const things = new InFlight<object>();
  const first = things.add({});
  assert.equal(things.delete(first), true);
  const second = things.add({});
  assert.ok(second > first);
  things.clear();
  assert.deepEqual([things.size, [...things.values()], things.get(second)], [0, [], undefined]);
});

test('finished requests do not wait for a garbage collection', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: { type: 'minor' | 'major' }) => void;
  const things = new InFlight<{ readonly payload: readonly number[] }>();
  collect({ type: 'major' });
  const before = getHeapStatistics().used_heap_size;
  for (let i = 0; i < 20_000; i++) {
    const number = things.add({ payload: Array.from({ length: 100 }, () => i) });
    things.delete(number - 32);
    if (i % 200 === 0) collect({ type: 'minor' });
  }
  const grownMb = (getHeapStatistics().used_heap_size - before) / 1024 / 1024;
  assert.equal(things.size, 32);
  assert.ok(grownMb < 6, `${grownMb.toFixed(1)} MB of what has gone are still there`);
});
