import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { InvariantViolation } from '../invariant.ts';
import { RevisionRing } from './revision-ring.ts';

interface Item {
  readonly revision: number;
  readonly size: number;
}

const ringOf = (maxItems: number, maxSize: number, onDrop?: (item: Item) => void): RevisionRing<Item> =>
  new RevisionRing({ maxItems, maxSize, sizeOf: ({ size }) => size, ...(onDrop === undefined ? {} : { onDrop }) });

test('a ring begins with its first item, and drops an item that alone is too large', () => {
  const ring = ringOf(2, 10);
  assert.deepEqual([ring.floor, ring.last, ring.after(0)], [0, 0, []]);
  ring.push({ revision: 7, size: 1 });
  assert.deepEqual([ring.floor, ring.last], [6, 7]);
  ring.push({ revision: 9, size: 11 });
  assert.deepEqual([ring.floor, ring.last, ring.after(6)], [9, 9, []], '11 is above the size limit of 10');
});

test('an item that is not newer than the newest one is refused', () => {
  const ring = ringOf(10, 100);
  ring.push({ revision: 3, size: 1 });
  assert.throws(() => ring.push({ revision: 3, size: 1 }), InvariantViolation);
  ring.restartAfter(9);
  assert.throws(() => ring.push({ revision: 9, size: 1 }), InvariantViolation);
  ring.push({ revision: 10, size: 1 });
  assert.deepEqual([ring.floor, ring.last], [9, 10]);
});

test('a size that changes while an item is kept is noticed', () => {
  const ring = new RevisionRing<{ revision: number; size: number }>({
    maxItems: 10,
    maxSize: 5,
    sizeOf: ({ size }) => size,
  });
  const item = { revision: 1, size: 5 };
  ring.push(item);
  item.size = 1;
  assert.throws(() => ring.push({ revision: 2, size: 2 }), InvariantViolation);
});

test('a ring equals the end of an array after any pushes and restarts', () => {
  const push = fc.record({ restarts: fc.constant(false), step: fc.integer({ min: 1, max: 3 }), size: fc.nat(9) });
  const restart = fc.record({ restarts: fc.constant(true), step: fc.integer({ min: -3, max: 3 }), size: fc.nat(0) });
  const steps = fc.array(fc.oneof({ arbitrary: push, weight: 20 }, restart), { maxLength: 300 });
  const limits = fc.record({ maxItems: fc.nat(100), maxSize: fc.nat(200) });
  const property = fc.property(limits, steps, ({ maxItems, maxSize }, given) => {
    const dropped: Item[] = [];
    const ring = ringOf(maxItems, maxSize, (item) => dropped.push(item));
    ring.restartAfter(5);
    let model: Item[] = [];
    const expectedDrops: Item[] = [];
    let [floor, last] = [5, 5];
    for (const { restarts, step, size } of given) {
      const revision = Math.max(1, last + step);
      last = revision;
      if (restarts) {
        ring.restartAfter(revision);
        model = [];
        floor = revision;
      } else {
        const item = { revision, size };
        ring.push(item);
        const kept = endWithin([...model, item], maxItems, maxSize);
        const gone = [...model, item].slice(0, model.length + 1 - kept.length);
        expectedDrops.push(...gone);
        floor = gone.at(-1)?.revision ?? floor;
        model = kept;
      }
      assert.deepEqual([ring.floor, ring.last, dropped], [floor, last, expectedDrops]);
      for (const distance of [0, 1, 64]) assert.equal(ring.fromNewest(distance), model.at(-1 - distance));
      for (const after of [0, floor, last - 2, last])
        assert.deepEqual(
          ring.after(after),
          model.filter((each) => each.revision > after),
        );
    }
  });
  fc.assert(property);
});

/** The longest end of a list that is within both limits. */
function endWithin(items: readonly Item[], maxItems: number, maxSize: number): Item[] {
  for (let from = 0; from < items.length; from++) {
    const end = items.slice(from);
    if (end.length <= maxItems && end.reduce((sum, { size }) => sum + size, 0) <= maxSize) return end;
  }
  return [];
}
