import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from './clock.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Returns how often a timer of `days` days has fired after each of the passed periods (in days). */
function firedAfter(t: TestContext, days: number, passed: readonly number[]): readonly number[] {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let fired = 0;
  createSystemClock().timer(days * DAY_MS, () => void (fired += 1));
  return passed.map((each) => {
    // Node fires a longer timer immediately; the mocked timers do not imitate that.
    for (let day = 0; day < each; day++) t.mock.timers.tick(DAY_MS);
    return fired;
  });
}

test('a timer beyond the maximum delay of Node fires once, at its time', (t) => {
  assert.deepEqual(firedAfter(t, 60, [1, 30, 25, 10, 60]), [0, 0, 0, 1, 1]);
});

test('a timer never exceeds the maximum delay of Node', (t) => {
  const asked: number[] = [];
  t.mock.method(globalThis, 'setTimeout', (_fire: () => void, delayMs: number) => void asked.push(delayMs));
  createSystemClock().timer(365 * DAY_MS, () => {});
  assert.deepEqual(asked, [2 ** 31 - 1]);
});

test('a long timer that is cancelled never fires', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let fired = 0;
  const timer = createSystemClock().timer(30 * DAY_MS, () => void (fired += 1));
  for (let day = 0; day < 26; day++) t.mock.timers.tick(DAY_MS);
  timer.cancel();
  for (let day = 0; day < 10; day++) t.mock.timers.tick(DAY_MS);
  assert.equal(fired, 0);
});
