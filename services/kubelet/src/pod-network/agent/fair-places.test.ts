import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FairPlaces } from './fair-places.ts';

test('one holder has a bounded number of places, and gets another one when it gives one back', () => {
  const places = new FairPlaces({ perHolder: 2, all: 10 });
  const giveBack = places.take('greedy', assert.fail);
  assert.ok(giveBack && places.take('greedy', assert.fail));
  assert.equal(places.take('greedy', assert.fail), undefined);
  assert.ok(places.take('other', assert.fail));
  giveBack();
  giveBack();
  assert.ok(places.take('greedy', assert.fail));
  assert.equal(places.take('greedy', assert.fail), undefined, 'a place is given back once');
});

test('when all places are taken, a newcomer gets the youngest place of the greediest holder', () => {
  const places = new FairPlaces({ perHolder: 10, all: 3 });
  const lost: string[] = [];
  for (const place of ['first', 'second', 'third']) places.take('greedy', () => lost.push(place));
  const release = places.take('newcomer', () => lost.push('newcomer'));
  assert.ok(release);
  assert.deepEqual(lost, ['third']);
  assert.equal(places.take('newcomer', assert.fail), undefined, 'holders with equal parts keep them');
  assert.equal(places.take('greedy', assert.fail), undefined);
  release();
  assert.ok(places.take('greedy', assert.fail));
});

test('whoever has less than an equal share gets a place, whatever the others hold', () => {
  const holders = ['a', 'b', 'c', 'd'];
  const step = fc.record({ holder: fc.constantFrom(...holders), isTaking: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 200 }), (all, steps) => {
      const places = new FairPlaces({ perHolder: all, all });
      const held = new Map(holders.map((holder) => [holder, new Set<() => void>()]));
      const count = (): number => [...held.values()].reduce((sum, { size }) => sum + size, 0);
      for (const { holder, isTaking } of steps) {
        const own = held.get(holder) ?? new Set();
        const [oldest] = own;
        const before = own.size;
        if (isTaking) {
          let entry: (() => void) | undefined;
          entry = places.take(holder, () => void (entry && own.delete(entry)));
          if (entry !== undefined) own.add(entry);
          else assert.ok(before + 1 > Math.floor(all / holders.length), `${holder} has ${before} of ${all}`);
        } else if (oldest !== undefined) {
          own.delete(oldest);
          oldest();
        }
        assert.ok(count() <= all, 'the number of places is bounded');
      }
    }),
  );
});

test('a group of many holders has the share of a group of one', () => {
  const places = new FairPlaces({ perHolder: 10, all: 6 });
  const lost: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) places.take(name, () => lost.push(name), 'crowd');
  const taken = [1, 2, 3, 4].map(() => places.take('one', () => lost.push('one'), 'quiet') !== undefined);
  assert.deepEqual(taken, [true, true, true, false], 'groups share equally');
  assert.equal(lost.length, 3);
  assert.equal(places.take('a-newcomer', assert.fail, 'crowd'), undefined, 'nothing of the other group');
});

test('inside a group that has its share, a holder with fewer places gets one of the greediest', () => {
  const places = new FairPlaces({ perHolder: 10, all: 4 });
  const lost: string[] = [];
  for (const place of ['first', 'second', 'third']) places.take('greedy', () => lost.push(place), 'shop');
  places.take('one', assert.fail, 'quiet');
  assert.ok(places.take('other', assert.fail, 'shop'));
  assert.deepEqual(lost, ['third']);
});
