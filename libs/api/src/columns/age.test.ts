import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageOf, humanDuration } from './age.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('ages have fewer details the longer they are', () => {
  const cases: readonly (readonly [number, string])[] = [
    [-3 * SECOND, '<invalid>'],
    [-SECOND, '0s'],
    [0, '0s'],
    [119 * SECOND, '119s'],
    [2 * MINUTE, '2m'],
    [2 * MINUTE + 5 * SECOND, '2m5s'],
    [10 * MINUTE + 30 * SECOND, '10m'],
    [179 * MINUTE, '179m'],
    [3 * HOUR, '3h'],
    [7 * HOUR + 59 * MINUTE, '7h59m'],
    [8 * HOUR + 59 * MINUTE, '8h'],
    [47 * HOUR, '47h'],
    [2 * DAY, '2d'],
    [3 * DAY + 4 * HOUR, '3d4h'],
    [8 * DAY + 4 * HOUR, '8d'],
    [729 * DAY, '729d'],
    [2 * 365 * DAY + 10 * DAY, '2y10d'],
    [8 * 365 * DAY + 10 * DAY, '8y'],
  ];
  for (const [milliseconds, text] of cases) assert.equal(humanDuration(milliseconds), text);
});

test('a missing time has no age', () => {
  assert.equal(ageOf(null, 0), '<unknown>');
  assert.equal(ageOf(undefined, 0), '<unknown>');
  assert.equal(ageOf('1970-01-01T00:00:00Z', 5 * SECOND), '5s');
});
