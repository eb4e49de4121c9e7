import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds } from '../ids.ts';
import type { Random } from '../random.ts';

const DRAWS = 20_000;

/** Tests the contract of `Random` and of the `Ids` made from it. */
export function randomContract(name: string, create: () => Random): void {
  test(`${name}: floats lie in [0, 1) and are spread evenly`, () => {
    const random = create();
    const buckets = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < DRAWS; i++) {
      const value = random.float();
      assert.ok(value >= 0 && value < 1);
      const bucket = Math.floor(value * 10);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    for (const count of buckets) assert.ok(Math.abs(count - DRAWS / 10) < DRAWS / 50, `uneven: ${buckets.join()}`);
  });

  test(`${name}: integers lie in [0, max) and reach both ends`, () => {
    const random = create();
    const seen = new Set(Array.from({ length: 500 }, () => random.int(5)));
    assert.deepEqual(
      [...seen].toSorted((a, b) => a - b),
      [0, 1, 2, 3, 4],
    );
  });

  test(`${name}: ids are version-4 uuids and never repeat`, () => {
    const ids = createIds(create());
    const uuids = new Set(Array.from({ length: 2000 }, () => ids.uuid()));
    assert.equal(uuids.size, 2000);
    for (const uuid of uuids)
      assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test(`${name}: suffixes use the alphabet of generated names`, () => {
    const ids = createIds(create());
    for (let i = 0; i < 200; i++) assert.match(ids.suffix(5), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });
}
