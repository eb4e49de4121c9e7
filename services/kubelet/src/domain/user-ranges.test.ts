import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { freeRange, hostIdOf, USER_RANGE_LENGTH, type UserRange, userRangePool } from './user-ranges.ts';

const touches = (a: UserRange, b: UserRange): boolean =>
  a.firstId < b.firstId + b.length && b.firstId < a.firstId + a.length;

const isWithin = ({ firstId, length }: UserRange, node: number): boolean => {
  const pool = userRangePool(node);
  return firstId >= pool.firstId && firstId + length <= pool.firstId + pool.ranges * USER_RANGE_LENGTH;
};

test('[USERNS-02] [USERNS-10] [EXP-17] with any sequence of pods, ranges never overlap, and all lie above 65535', () => {
  const steps = fc.array(fc.oneof(fc.constant('take' as const), fc.nat(1_200)), { maxLength: 300 });
  fc.assert(
    fc.property(steps, fc.nat(49), (sequence, node) => {
      const held: UserRange[] = [];
      for (const step of sequence) {
        if (step !== 'take') {
          held.splice(step % Math.max(1, held.length), 1);
          continue;
        }
        const range = freeRange(userRangePool(node), held);
        assert.ok(range !== undefined && range.length === 65_536 && range.firstId > 65_535);
        assert.ok(isWithin(range, node) && !held.some((other) => touches(range, other)));
        held.push(range);
      }
    }),
  );
});

test('[USERNS-02] ranges from an earlier kubelet, of any length and place, are not allocated again', () => {
  const foreign = fc.record({ firstId: fc.nat(40_000_000), length: fc.integer({ min: 1, max: 300_000 }) });
  fc.assert(
    fc.property(fc.array(foreign, { maxLength: 40 }), (taken) => {
      const range = freeRange(userRangePool(), taken);
      assert.ok(range !== undefined && !taken.some((other) => touches(range, other)));
    }),
  );
});

test('[USERNS-02] with all ranges in use the allocation fails, and a released range is found', () => {
  const pool = { firstId: 65_536, ranges: 3 };
  const held: UserRange[] = [];
  for (let range = freeRange(pool, held); range !== undefined; range = freeRange(pool, held)) held.push(range);
  assert.deepEqual(
    held.map(({ firstId }) => firstId),
    [65_536, 131_072, 196_608],
  );
  held.splice(1, 1);
  assert.equal(freeRange(pool, held)?.firstId, 131_072);
});

test('nodes of one machine never share an id', () => {
  const lastOf = (node: number): number => userRangePool(node).firstId + userRangePool(node).ranges * USER_RANGE_LENGTH;
  for (let node = 0; node < 49; node++) assert.equal(lastOf(node), userRangePool(node + 1).firstId);
});

test('[USERNS-04] ids inside go from 0 to 65535, each with one id outside', () => {
  const first = { firstId: 65_536, length: USER_RANGE_LENGTH };
  assert.deepEqual(
    [-1, 0, 65_535, 65_536].map((id) => hostIdOf(first, id)),
    [undefined, 65_536, 131_071, undefined],
  );
  fc.assert(
    fc.property(fc.nat(1_000), fc.integer({ min: -70_000, max: 200_000 }), (index, id) => {
      const range = { firstId: (index + 1) * 65_536, length: USER_RANGE_LENGTH };
      assert.equal(hostIdOf(range, id), id >= 0 && id <= 65_535 ? range.firstId + id : undefined);
    }),
  );
});
