import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAP_SLOTS } from '../limits.ts';
import { inOldPlaces, SlotTable } from './slots.ts';

const targetsArb = fc.uniqueArray(
  fc.integer({ min: 0, max: 30 }).map((n) => `10.0.0.${n} . 80`),
  { maxLength: 20 },
);
const stepsArb = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), targetsArb), { maxLength: 30 });

test('each pool finds its targets, and only those, in its slots of one map', () => {
  fc.assert(
    fc.property(stepsArb, (steps) => {
      const table = new SlotTable();
      const kernel = new Map<string, string>();
      const pools = new Map<
        string,
        { readonly map: number; readonly offset: number; readonly targets: readonly string[] }
      >();
      for (const [name, targets] of steps) {
        const { map, offset, count, changes } = table.place(name, targets);
        for (const change of changes) {
          const id = `${change.map} ${change.slot}`;
          assert.equal(kernel.has(id), change.hadTarget);
          if (change.target === undefined) kernel.delete(id);
          else kernel.set(id, change.target);
        }
        assert.equal(count, targets.length);
        pools.set(name, { map, offset, targets });
        for (const pool of pools.values()) {
          const found = pool.targets.map((_, i) => kernel.get(`${pool.map} ${pool.offset + i}`));
          assert.deepEqual(new Set(found), new Set(pool.targets));
        }
        assert.equal(
          kernel.size,
          [...pools.values()].reduce((sum, pool) => sum + pool.targets.length, 0),
        );
      }
    }),
  );
});

test('one target more, less or other changes at most two slots within the capacity', () => {
  fc.assert(
    fc.property(targetsArb, fc.nat(), (targets, at) => {
      fc.pre(targets.length > 0);
      const other = targets.map((target, i) => (i === at % targets.length ? 'other' : target));
      for (const next of [targets.filter((_, i) => i !== at % targets.length), other]) {
        const moved = inOldPlaces(targets, next);
        assert.deepEqual(moved.toSorted(), next.toSorted());
        assert.ok(targets.filter((target, i) => moved[i] !== target).length <= 2);
      }
    }),
  );
});

test('few pools share a map, and a pool larger than a map has one of its own', () => {
  const table = new SlotTable();
  const name = (i: number): string => `pool-${i}`;
  const small = Array.from({ length: MAP_SLOTS }, (_, i) => table.place(name(i), ['10.0.0.1 . 80']));
  const perMap = Map.groupBy(small, ({ map }) => map);
  assert.ok([...perMap.values()].every(({ length }) => length <= MAP_SLOTS / 4));
  const many = Array.from({ length: 3 * MAP_SLOTS }, (_, i) => `10.0.0.1 . ${i}`);
  const [large, next] = [table.place('large', many), table.place('next', ['10.0.0.1 . 80'])];
  assert.equal(new Set(large.changes.map(({ map }) => map)).size, 1);
  assert.ok(!perMap.has(large.map) && next.map !== large.map);
});
