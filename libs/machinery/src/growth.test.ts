import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from './json.ts';
import { MAX_UPDATE_MANAGERS } from './limits.ts';
import { trackUpdate } from './managed-fields/track.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';
import { configMap, pod } from './testing-schemas.ts';

/** Beyond the caches of a processor, which make small data several times cheaper. */
const SMALL = 10_000;
const TIMES_LARGER = 8;
/** Linear work grows 8 times, quadratic work 64 times. */
const RATIO_MAX = 24;

const RUNS = 2;
/** The resolution of a thread's CPU clock. */
const TICK_US = 4_000;

/** CPU time of this thread for one run: other programs do not count. */
function microseconds(work: () => unknown, runs: number): number {
  const began = process.threadCpuUsage();
  for (let run = 0; run < runs; run += 1) work();
  const { user, system } = process.threadCpuUsage(began);
  return Math.max(TICK_US, user + system) / runs;
}

function growsInStep(make: (size: number) => () => unknown): void {
  // As many items in all for both sizes, so that garbage collections fall into both.
  const ratio = (): number =>
    microseconds(make(SMALL * TIMES_LARGER), RUNS) / microseconds(make(SMALL), RUNS * TIMES_LARGER);
  // Takes the best of three, because a garbage collection may fall into one run.
  const least = Math.min(ratio(), ratio(), ratio());
  assert.ok(least < RATIO_MAX, `${least} times the cost`);
}

const fieldsOf = (index: number): JsonObject => ({ 'f:data': { [`f:k${index}`]: {} } });
const entry = (index: number, operation: string): JsonObject => ({
  manager: `m${index}`,
  operation,
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: fieldsOf(index),
});
const many = (size: number, make: (index: number) => Json): readonly Json[] =>
  Array.from({ length: size }, (_, index) => make(index));

function objectOwnedBy(size: number, operation: string): JsonObject {
  const data = Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, 'v']));
  return { metadata: { name: 'c', managedFields: many(size, (index) => entry(index, operation)) }, data };
}

for (const operation of ['Update', 'Apply']) {
  test(`the cost of thousands of owners by ${operation} is linear`, () => {
    growsInStep((size) => {
      const live = objectOwnedBy(size, operation);
      const updated = { ...live, data: { other: 'v' } };
      return () => trackUpdate({ manager: 'me', apiVersion: 'v1', live, updated, schema: configMap() });
    });
  });
}

test('the oldest of thousands of update entries are merged into one that owns their fields', () => {
  const live = objectOwnedBy(100, 'Update');
  const updated = { ...live, data: { ...(live['data'] as JsonObject), other: 'v' } };
  const tracked = trackUpdate({ manager: 'me', apiVersion: 'v1', live, updated, schema: configMap() });
  const entries = (tracked['metadata'] as JsonObject)['managedFields'] as readonly JsonObject[];
  assert.equal(entries.length, MAX_UPDATE_MANAGERS);
});

test('the cost of thousands of deletions by a strategic merge is linear', () => {
  growsInStep((size) => {
    const containers = many(size, (index) => ({ name: `c${index}` }));
    const deletions = many(size, (index) => ({ name: `c${index}`, $patch: 'delete' }));
    const live: JsonObject = { spec: { containers } };
    return () => applyStrategicMergePatch(live, { spec: { containers: deletions } }, pod());
  });
});
