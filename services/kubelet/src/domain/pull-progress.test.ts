import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pullDuration, pullProgressText } from './pull-progress.ts';

test('durations of pulls have the words of Kubernetes', () => {
  const written = [0, 0.4, 345.9, 1_000, 2_500, 62_345, 600_000, 3_600_000, 3_661_001].map(pullDuration);
  assert.deepEqual(written, ['0s', '0s', '345ms', '1s', '2.5s', '1m2.345s', '10m0s', '1h0m0s', '1h1m1.001s']);
});

test('progress has figures where the runtime gives some', () => {
  assert.equal(pullProgressText('"a:1"', 14_999, undefined), 'Still pulling image "a:1" after 15s');
  const progress = { bytes: 12_340_000, totalBytes: 50_000_000, layers: 5, layersDone: 2 };
  assert.equal(
    pullProgressText('"a:1"', 90_000, progress),
    'Still pulling image "a:1" after 1m30s: 2 of 5 layers, 12.3 of 50.0 MB',
  );
  assert.equal(pullProgressText('"a:1"', 1_000, { ...progress, layers: 0 }), 'Still pulling image "a:1" after 1s');
});
