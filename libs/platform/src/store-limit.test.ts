import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { storeLimits } from './store-limit.ts';

const MIB = 1024 * 1024;

for (const [what, mebibytes, heapMib, expectedMib] of [
  ['an eighth of a small heap', undefined, 512, 64],
  ['no more than 2 GiB of a large one', undefined, 64 * 1024, 2_048],
  ['what is set, whatever the heap is', 300, 512, 300],
] as const) {
  test(`the store takes ${what}, and a tenth more for the system`, () => {
    const { bytes, reserveBytes } = storeLimits(mebibytes, heapMib * MIB);
    assert.equal(bytes, expectedMib * MIB);
    assert.equal(reserveBytes, Math.floor(bytes / 10));
  });
}
