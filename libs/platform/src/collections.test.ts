import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryHeap } from './binary-heap.ts';
import { Fifo } from './fifo.ts';

test('a queue returns its items in insertion order and is empty afterwards', () => {
  const queue = new Fifo<number>();
  for (let i = 0; i < 500; i++) queue.push(i);
  for (let i = 0; i < 200; i++) assert.equal(queue.shift(), i);
  queue.push(500);
  for (let i = 200; i <= 500; i++) assert.equal(queue.shift(), i);
  assert.deepEqual([queue.shift(), queue.size, queue.slots], [undefined, 0, 0]);
  queue.push(1);
  queue.clear();
  assert.deepEqual([queue.shift(), queue.size], [undefined, 0]);
});

test('a queue whose consumer is always one item behind holds a bounded number of slots', () => {
  const queue = new Fifo<number>();
  queue.push(0);
  let most = 0;
  for (let i = 1; i <= 20_000; i++) {
    queue.push(i);
    assert.equal(queue.shift(), i - 1);
    most = Math.max(most, queue.slots);
  }
  assert.ok(most < 2_000, `${most} slots are held for one item`);
  assert.deepEqual([queue.size, queue.shift(), queue.shift(), queue.slots], [1, 20_000, undefined, 0]);
});

test('a heap returns its items in the order of its comparator', () => {
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
