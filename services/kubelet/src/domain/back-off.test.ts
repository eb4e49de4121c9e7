import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BackOff, formatDuration, nextBackOff, restartDelay, untilRetry } from './back-off.ts';

test('[LIFE-22] [LIFE-24] the first restart is immediate, then 10 s, 20 s, 40 s ... 300 s', () => {
  let now = 1_000_000;
  let backOff: BackOff | undefined;
  const waited: number[] = [];
  for (let i = 0; i < 9; i++) {
    const delay = restartDelay(backOff, now, now);
    waited.push(delay / 1000);
    const finishedAt = now;
    now += delay;
    backOff = nextBackOff(backOff, finishedAt, now);
  }
  assert.deepEqual(waited, [0, 10, 20, 40, 80, 160, 300, 300, 300]);
});

test('[LIFE-23] ten minutes without a failure reset the back-off', () => {
  const backOff = { delayMs: 300_000, startedAt: 1_000_000 };
  const tooShort = backOff.startedAt + 600_000;
  assert.equal(restartDelay(backOff, tooShort, tooShort), 300_000);
  assert.equal(restartDelay(backOff, tooShort + 1, tooShort + 1), 0);
  assert.equal(nextBackOff(backOff, tooShort + 1, tooShort + 1).delayMs, 10_000);
});

test('[LIFE-22] back-off stays within its bounds for any history and any clock jump', () => {
  const time = fc.integer({ min: 0, max: 10_000_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(time, time), { maxLength: 30 }), (history) => {
      let backOff: BackOff | undefined;
      for (const [finishedAt, now] of history) {
        const delay = restartDelay(backOff, finishedAt, now);
        assert.ok(delay >= 0 && delay <= 300_000);
        backOff = nextBackOff(backOff, finishedAt, now);
        assert.ok(backOff.delayMs >= 10_000 && backOff.delayMs <= 300_000);
      }
    }),
  );
});

test('a retry scheduled before the clock was set back does not wait for the old time', () => {
  assert.deepEqual([untilRetry(undefined, 5), untilRetry(9, 5), untilRetry(3, 5)], [0, 4, 0]);
  assert.equal(untilRetry(3_600_000, 5), 0);
});

test('durations are printed as in Go', () => {
  assert.deepEqual([10_000, 80_000, 160_000, 300_000].map(formatDuration), ['10s', '1m20s', '2m40s', '5m0s']);
});
