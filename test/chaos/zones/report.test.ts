import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { formatSlices } from './report.ts';

test('a report has the times of each fault, sums, and what is broken', () => {
  const slice = { kind: 'zone-cut', unavailableMs: [100, 300], acknowledged: 5, unknown: 1, operations: 9, broken: [] };
  const text = formatSlices([slice, { ...slice, unavailableMs: [9_000], broken: ['a watch was told something else'] }]);
  assert.match(text, /\| zone-cut \| 3 \| 0\.30 \| 9\.00 \| 9\.00 \| 10 \| 2 \| 18 \| 1 \|/);
  assert.match(text, /BROKEN \(zone-cut\): a watch was told something else/);
});
