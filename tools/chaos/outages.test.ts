import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatOutages } from './outages.ts';

test('times without a write are summed up by the kind of fault', () => {
  const text = formatOutages([
    { kind: 'zone-loss', ms: 2_000 },
    { kind: 'isolate', ms: 100 },
    { kind: 'zone-loss', ms: 6_000 },
  ]);
  assert.deepEqual(text.split('\n').slice(2), [
    '| isolate | 1 | 0.1 | 0.1 | 0.1 | 0 |',
    '| zone-loss | 2 | 2.0 | 6.0 | 6.0 | 0 |',
    '| all | 3 | 2.0 | 6.0 | 6.0 | 0 |',
  ]);
  assert.equal(formatOutages([]), 'no faults');
});
