import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DelayHeap } from './delay-heap.ts';

test('a key is due once, at the earliest time that was requested', () => {
  const heap = new DelayHeap();
  heap.push('a', 30);
  heap.push('b', 20);
  heap.push('a', 10);
  heap.push('a', 40);
  assert.deepEqual([heap.size, heap.nextDueMs(), heap.popDue(9)], [2, 10, []]);
  assert.deepEqual(heap.popDue(30), ['a', 'b']);
  assert.deepEqual([heap.size, heap.nextDueMs(), heap.popDue(100)], [0, undefined, []]);
});

test('a repeated request does not move a key behind others of its time', () => {
  const heap = new DelayHeap();
  for (const key of ['a', 'b', 'a']) heap.push(key, 5);
  assert.deepEqual(heap.popDue(5), ['a', 'b']);
});

interface Due {
  readonly key: string;
  readonly dueMs: number;
}

test('a delay heap equals a list of keys in the order in which they become due', () => {
  const push = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), dueMs: fc.nat(4) });
  const popDue = fc.record({ key: fc.constant(undefined), dueMs: fc.nat(4) });
  const property = fc.property(
    fc.array(fc.oneof({ arbitrary: push, weight: 3 }, popDue), { maxLength: 100 }),
    (steps) => {
      const heap = new DelayHeap();
      let model: Due[] = [];
      for (const { key, dueMs } of steps) {
        if (key === undefined) {
          const isDue = (each: Due): boolean => each.dueMs <= dueMs;
          const due = model.filter(isDue).map((each) => each.key);
          assert.deepEqual(heap.popDue(dueMs), due);
          model = model.filter((each) => !isDue(each));
        } else {
          heap.push(key, dueMs);
          const isEarlier = model.every((each) => each.key !== key || each.dueMs > dueMs);
          // The sort is stable: equal times stay in the order of their push.
          if (isEarlier) model = [...model.filter((each) => each.key !== key), { key, dueMs }].sort(byDue);
        }
        assert.deepEqual([heap.size, heap.nextDueMs()], [model.length, model[0]?.dueMs]);
      }
    },
  );
  fc.assert(property);
});

const byDue = (a: Due, b: Due): number => a.dueMs - b.dueMs;
