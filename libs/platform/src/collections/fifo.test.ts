import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Fifo } from './fifo.ts';

test('a queue hands out its items in the order in which they came, and is empty after that', () => {
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

test('a queue equals an array after any pushes and shifts', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), count: fc.nat(150) }),
    fc.record({ kind: fc.constant('shift' as const), count: fc.nat(150) }),
    fc.record({ kind: fc.constant('clear' as const), count: fc.constant(0) }),
  );
  const property = fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: -2, max: 200 }), (steps, index) => {
    const queue = new Fifo<number>();
    let model: number[] = [];
    let next = 0;
    for (const { kind, count } of steps) {
      if (kind === 'clear') {
        queue.clear();
        model = [];
      }
      for (let i = 0; i < count; i++) {
        if (kind === 'shift') assert.equal(queue.shift(), model.shift());
        else queue.push(model[model.push(next++) - 1] ?? 0);
      }
      assert.equal(queue.size, model.length);
      assert.equal(queue.at(index), model[index]);
      assert.deepEqual(queue.slice(index), model.slice(Math.max(0, index)));
      assert.ok(queue.slots <= queue.size + Math.max(64, queue.size), `${queue.slots} slots for ${queue.size} items`);
    }
  });
  fc.assert(property);
});
