import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { compactionPoint, keptSamples } from './retention.ts';

const MINUTE = 60_000;
const limits = { minAgeMs: 10 * MINUTE, minRevisions: 50, maxBytes: 1_000 };
const samples = [0, 5, 10, 15].map((minute) => ({ at: minute * MINUTE, revision: minute * 10 + 10 }));

for (const [what, extent, minutes, expected] of [
  ['young history stays', { current: 160, compacted: 0, bytes: 10 }, 9, 0],
  ['what is old and beyond the number goes', { current: 160, compacted: 0, bytes: 10 }, 20, 110],
  ['old history stays while it is short', { current: 160, compacted: 0, bytes: 10 }, 16, 60],
  ['the minimum number stays however old it is', { current: 40, compacted: 0, bytes: 10 }, 60, 0],
  ['the cap drops young history', { current: 100, compacted: 0, bytes: 2_000 }, 1, 60],
  ['the cap counts from what is kept', { current: 1_100, compacted: 1_000, bytes: 1_600 }, 1, 1_050],
  ['the point never goes back', { current: 160, compacted: 100, bytes: 10 }, 16, 100],
] as const) {
  test(`retention: ${what}`, () => {
    assert.equal(compactionPoint(extent, samples, minutes * MINUTE, limits), expected);
  });
}

test('retention: only the newest of the old samples is kept', () => {
  assert.deepEqual(keptSamples(samples, 16 * MINUTE, 10 * MINUTE), samples.slice(1));
  assert.deepEqual(keptSamples(samples, 1 * MINUTE, 10 * MINUTE), samples);
});
