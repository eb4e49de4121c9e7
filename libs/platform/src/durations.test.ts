import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration } from './durations.ts';

test('durations are parsed as in Go', () => {
  const table: readonly [string, number | undefined][] = [
    ['0', 0],
    ['0s', 0],
    ['15s', 15_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.m', 60_000],
    ['250ms', 250],
    ['1us', 0.001],
    ['', undefined],
    ['5', undefined],
    ['-5s', undefined],
    ['soon', undefined],
    ['1h soon', undefined],
  ];
  for (const [text, ms] of table) assert.equal(parseDuration(text), ms, text);
});
