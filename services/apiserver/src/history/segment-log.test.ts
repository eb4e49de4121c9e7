import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import type { HistoryBatch } from './record.ts';
import { SegmentLog } from './segment-log.ts';
import { createMemorySegments } from './segment-store.ts';

const SEGMENTS = 1_000;
const LINEAGE = 'l.1';
const RETENTION_MS = 100;

const batchAt = (n: number): HistoryBatch => ({ from: n, last: n + 1, beganAt: n, endedAt: n, records: [] });

type ArrayMethod = (this: unknown[], ...given: never[]) => unknown;

/** Counts the items of arrays that are copied or gone through until `end`. */
function countTouched() {
  let touched = 0;
  const copying = new Map<PropertyKey, ArrayMethod>([
    [Symbol.iterator, Array.prototype[Symbol.iterator]],
    ['slice', Array.prototype.slice],
    ['reduce', Array.prototype.reduce],
    ['map', Array.prototype.map],
  ]);
  for (const [name, original] of copying) {
    Reflect.set(Array.prototype, name, function (this: unknown[], ...given: never[]) {
      touched += this.length;
      return Reflect.apply(original, this, given);
    });
  }
  const end = (): number => {
    const count = touched;
    copying.forEach((original, name) => Reflect.set(Array.prototype, name, original));
    return count;
  };
  return { end };
}

test('the work of a segment that comes, goes or is found at the start does not grow with those that are kept', async (t) => {
  const segments = createMemorySegments();
  const options = { segments, retentionMs: RETENTION_MS, limitBytes: 1e9, log: createSilentLog() };
  const log = new SegmentLog({ ...options, retentionMs: SEGMENTS });
  const touched = countTouched();
  t.after(touched.end);
  for (let n = 0; n < SEGMENTS; n++) {
    assert.ok(await log.append(batchAt(n), LINEAGE));
    await log.retain(n);
  }
  const later = new SegmentLog(options);
  await later.open(LINEAGE);
  assert.equal(later.bytes, log.bytes);
  await later.retain(SEGMENTS + RETENTION_MS / 2);
  const count = touched.end();
  assert.equal(log.kept.length, SEGMENTS);
  assert.equal(later.kept.length, RETENTION_MS / 2);
  assert.equal(
    later.bytes,
    later.kept.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  assert.ok(count < 50 * SEGMENTS, `${count} items were touched for ${SEGMENTS} segments`);
});

test('a reader goes on with the segments that it has seen', async () => {
  const options = { segments: createMemorySegments(), retentionMs: 1, limitBytes: 1e9, log: createSilentLog() };
  const log = new SegmentLog(options);
  for (const n of [0, 1]) await log.append(batchAt(n), LINEAGE);
  const seen = log.kept;
  assert.equal(log.kept, seen);
  await log.append(batchAt(2), LINEAGE);
  await log.retain(3);
  assert.deepEqual(
    [seen, log.kept].map((kept) => kept.map(({ head }) => head.from)),
    [[0, 1], [2]],
  );
});
