import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMicroTime, formatTime, parseTime } from './time.ts';

test('times are printed in the format of Kubernetes and parsed back', () => {
  const at = Date.UTC(2026, 1, 3, 4, 5, 6, 789);
  assert.equal(formatTime(at), '2026-02-03T04:05:06Z');
  assert.equal(formatMicroTime(at), '2026-02-03T04:05:06.789000Z');
  assert.equal(formatMicroTime(at + 0.25), '2026-02-03T04:05:06.789250Z');
  assert.equal(parseTime(formatMicroTime(at)), at);
  assert.equal(parseTime('2026-02-03T05:05:06.789+01:00'), at);
});

test('a text that is not an RFC 3339 time is refused', () => {
  for (const text of ['', 'yesterday', '2026-02-03', '2026-02-03 04:05:06Z', '2026-13-03T04:05:06Z']) {
    assert.equal(parseTime(text), undefined, text);
  }
});
