import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import fc from 'fast-check';
import { createWorkQueue } from './work-queue.ts';

test('a key added several times is handed out once', async () => {
  const queue = createWorkQueue({ clock: createVirtualClock() });
  queue.add('a');
  queue.add('a');
  queue.add('b');
  assert.equal(queue.length(), 2);
  assert.equal(await queue.take(), 'a');
  assert.equal(await queue.take(), 'b');
});

test('a key added during its pass is handed out again only after done', async () => {
  const queue = createWorkQueue({ clock: createVirtualClock() });
  queue.add('a');
  await queue.take();
  queue.add('a');
  assert.equal(queue.length(), 0);
  queue.done('a');
  assert.equal(await queue.take(), 'a');
});

test('the back-off of a key doubles from 5 ms to 1000 s, and forget resets it', async () => {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ clock });
  const delays: number[] = [];
  for (let round = 0; round < 20; round++) {
    const before = clock.monotonic();
    queue.addRateLimited('a');
    const taken = queue.take();
    await clock.advance(1_000_001);
    assert.equal(await taken, 'a');
    queue.done('a');
    delays.push(before);
  }
  queue.forget('a');
  queue.addRateLimited('a');
  await clock.advance(4);
  assert.equal(queue.length(), 0);
  await clock.advance(1);
  assert.equal(queue.length(), 1);
});

test('delays are exact: 5, 10, 20 ms', async () => {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ clock });
  for (const waitMs of [5, 10, 20, 40]) {
    queue.addRateLimited('a');
    await clock.advance(waitMs - 1);
    assert.equal(queue.length(), 0, `${waitMs}`);
    await clock.advance(1);
    assert.equal(queue.length(), 1, `${waitMs}`);
    await queue.take();
    queue.done('a');
  }
});

test('the earliest of several delays applies, with one timer', async () => {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ clock });
  queue.addAfter('a', 500);
  queue.addAfter('a', 100);
  queue.addAfter('a', 300);
  queue.addAfter('b', 200);
  assert.equal(clock.pendingTimers(), 1);
  await clock.advance(100);
  assert.equal(await queue.take(), 'a');
  queue.done('a');
  await clock.advance(1000);
  assert.equal(await queue.take(), 'b');
  assert.equal(queue.length(), 0, 'the later delays of a were replaced');
});

test('shut down releases waiting takers and leaves no timer', async () => {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ clock });
  queue.addAfter('a', 100);
  const taken = queue.take();
  queue.shutDown();
  assert.equal(await taken, undefined);
  assert.equal(await queue.take(), undefined);
  assert.equal(clock.pendingTimers(), 0);
});

test('no key is processed twice at once and no added key is lost, in any order of calls', async () => {
  const call = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'limited', 'finish'), key: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ op: fc.constant('after'), key: fc.constantFrom('a', 'b', 'c'), ms: fc.integer({ min: 0, max: 50 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 60 }), async (calls) => {
      const clock = createVirtualClock();
      const queue = createWorkQueue({ clock, backoffMaxMs: 100 });
      const active = new Set<string>();
      const owed = new Set<string>();
      const worker = async (): Promise<void> => {
        for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
          assert.ok(!active.has(key), `${key} was handed out twice at once`);
          active.add(key);
          owed.delete(key);
        }
      };
      const workers = [worker(), worker()];
      for (const { op, key, ...rest } of calls) {
        if (op === 'finish') {
          if (active.delete(key)) queue.done(key);
        } else {
          owed.add(key);
          if (op === 'add') queue.add(key);
          else if (op === 'limited') queue.addRateLimited(key);
          else queue.addAfter(key, 'ms' in rest ? rest.ms : 0);
        }
        await clock.advance(1);
      }
      for (let round = 0; round < 3; round++) {
        for (const key of active) if (active.delete(key)) queue.done(key);
        await clock.advance(200);
      }
      assert.deepEqual([...owed], []);
      queue.shutDown();
      await Promise.all(workers);
    }),
    { numRuns: 60 },
  );
});
