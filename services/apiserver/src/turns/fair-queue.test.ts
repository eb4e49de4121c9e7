import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { FairQueue, type Flow } from './fair-queue.ts';

const WEIGHTS = { system: 4, workload: 1 };

const user = (key: string, level: keyof typeof WEIGHTS = 'workload'): Flow => ({
  level,
  key,
  weight: WEIGHTS[level],
  waitingMax: 1_000,
});

/** Takes items until the queue is empty; every item costs its own value. */
function drain(queue: FairQueue<number>, most = Number.POSITIVE_INFINITY): Flow[] {
  const served: Flow[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    served.push(next.flow);
    queue.charge(next.flow, next.item);
    if (served.length >= most) break;
  }
  return served;
}

test('a user with many requests is served after one item of every other user', () => {
  const queue = new FairQueue<number>();
  for (let n = 0; n < 100; n++) queue.push(user('greedy'), 10);
  queue.push(user('a'), 1);
  queue.push(user('b'), 1);
  const names = drain(queue, 5).map(({ key }) => key);
  assert.ok(names.indexOf('a') <= 2 && names.indexOf('b') <= 2, names.join());
});

test('a user who was just served a lot waits behind others that arrive at the same time', () => {
  const queue = new FairQueue<number>();
  queue.charge(user('greedy'), 500);
  queue.push(user('greedy'), 1);
  queue.push(user('a'), 1);
  assert.deepEqual(
    drain(queue).map(({ key }) => key),
    ['a', 'greedy'],
  );
});

test('a long idle user accumulates no credit', () => {
  const queue = new FairQueue<number>();
  for (let n = 0; n < 50; n++) queue.push(user('a'), 1);
  drain(queue, 40);
  for (let n = 0; n < 20; n++) queue.push(user('late'), 1);
  const names = drain(queue, 10).map(({ key }) => key);
  assert.ok(names.filter((name) => name === 'a').length >= 4, names.join());
});

test('levels are served by weight, however much each sends', () => {
  const queue = new FairQueue<number>();
  for (let n = 0; n < 1_000; n++) {
    queue.push(user('a'), 1);
    queue.push(user('system:node:a', 'system'), 1);
  }
  const served = drain(queue, 100);
  const system = served.filter(({ level }) => level === 'system').length;
  assert.ok(system >= 75 && system <= 85, `${system} of 100`);
});

test('a level that has worked for hours is not delayed for it, and is next when it wakes', () => {
  const queue = new FairQueue<number>();
  queue.charge(user('system:node:a', 'system'), 1e9);
  for (let n = 0; n < 10; n++) queue.push(user('a'), 1);
  queue.push(user('system:node:a', 'system'), 1);
  assert.equal(drain(queue, 1)[0]?.level, 'system');
});

test('property: no item is lost or duplicated, and among backlogged users none is more than one item ahead', () => {
  const sends = fc.array(fc.record({ key: fc.integer({ min: 0, max: 4 }), cost: fc.integer({ min: 1, max: 20 }) }), {
    minLength: 1,
    maxLength: 200,
  });
  fc.assert(
    fc.property(sends, (sent) => {
      const queue = new FairQueue<number>();
      const left = new Map<string, number>();
      for (const { key, cost } of sent) {
        queue.push(user(`u${key}`), cost);
        left.set(`u${key}`, (left.get(`u${key}`) ?? 0) + 1);
      }
      const given = new Map([...left.keys()].map((key) => [key, 0]));
      for (let next = queue.next(); next !== undefined; next = queue.next()) {
        const { flow, item } = next;
        queue.charge(flow, item);
        left.set(flow.key, (left.get(flow.key) ?? 0) - 1);
        const before = given.get(flow.key) ?? 0;
        for (const [other, count] of left) {
          if (count > 0) assert.ok(before <= (given.get(other) ?? 0), `${flow.key} before ${other}`);
        }
        given.set(flow.key, before + item);
      }
      assert.ok([...left.values()].every((count) => count === 0));
      assert.equal(queue.size, 0);
    }),
  );
});

test('served requests are released while their user keeps waiting', () => {
  const queue = new FairQueue<number>();
  queue.push(user('a'), 0);
  for (let n = 0; n < 1_000; n++) {
    queue.push(user('a'), n);
    queue.next();
  }
  assert.equal(queue.size, 1);
  assert.ok(queue.keptOf(user('a')) < 200, `${queue.keptOf(user('a'))} items are kept`);
});

test('names of levels that come and go do not fill the memory, and waiting ones are kept', () => {
  const queue = new FairQueue<number>();
  queue.push(user('a'), 1);
  for (let n = 0; n < 1_000; n++) queue.charge({ ...user('b'), level: `level-${n}` }, 1);
  assert.ok(queue.levels <= 256, `${queue.levels} levels`);
  assert.equal(queue.next()?.flow.key, 'a');
});

test('what is taken of one flow leaves the others, and is not served again', () => {
  const queue = new FairQueue<number>();
  queue.push(user('a'), 1);
  queue.push(user('a'), 2);
  queue.push(user('b'), 3);
  assert.deepEqual([queue.firstOf(user('a')), queue.takeOf(user('a')), queue.firstOf(user('a'))], [1, 1, 2]);
  assert.deepEqual([queue.size, queue.lengthOf(user('a'))], [2, 1]);
  assert.deepEqual(
    [queue.takeOf(user('a')), queue.takeOf(user('a')), queue.firstOf(user('a'))],
    [2, undefined, undefined],
  );
  assert.equal(queue.next()?.item, 3);
  assert.deepEqual([queue.size, queue.next()], [0, undefined]);
});
