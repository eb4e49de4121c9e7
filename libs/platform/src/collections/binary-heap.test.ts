import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BinaryHeap } from './binary-heap.ts';

test('a heap hands out its items in the order that it was made with', () => {
  const heap = new BinaryHeap<number>((a, b) => a < b);
  const items = Array.from({ length: 500 }, (_, i) => (i * 7_919) % 97);
  for (const item of items) heap.push(item);
  assert.equal(heap.peek(), 0);
  const out: number[] = [];
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) out.push(next);
  assert.deepEqual(
    out,
    items.toSorted((a, b) => a - b),
  );
  assert.equal(heap.size, 0);
});

test('a heap equals a sorted array after any pushes and pops', () => {
  const step = fc.option(fc.integer({ min: 0, max: 30 }), { freq: 3, nil: 'pop' as const });
  const property = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const heap = new BinaryHeap<number>((a, b) => a < b);
    let model: number[] = [];
    for (const each of steps) {
      if (each === 'pop') assert.equal(heap.pop(), model.shift());
      else {
        heap.push(each);
        model = [...model, each].sort((a, b) => a - b);
      }
      assert.deepEqual([heap.size, heap.peek()], [model.length, model[0]]);
    }
  });
  fc.assert(property);
});
