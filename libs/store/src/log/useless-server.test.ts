import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOG_MOVE_ON_AFTER_MS } from '../limits.ts';
import { uselessBecause } from './useless-server.ts';

const [RECENT, LONG] = [LOG_MOVE_ON_AFTER_MS - 1, LOG_MOVE_ON_AFTER_MS];

const TABLE: readonly (readonly [
  storedAgoMs: number,
  heardAgoMs: number,
  refusal: string | undefined,
  why?: string,
])[] = [
  [RECENT, RECENT, undefined],
  [RECENT, RECENT, 'no leader'],
  [RECENT, LONG, undefined, 'it gives no consumer'],
  [RECENT, LONG, 'no leader', 'it gives no consumer'],
  [LONG, RECENT, undefined, 'it stores nothing'],
  [LONG, LONG, 'no leader', 'no leader'],
];
for (const [storedAgoMs, heardAgoMs, refusal, why] of TABLE) {
  test(`a server that stored ${storedAgoMs} ms ago and was heard ${heardAgoMs} ms ago (${refusal}) is ${why ?? 'of use'}`, () => {
    assert.equal(uselessBecause({ storedAgoMs, heardAgoMs, refusal }), why);
  });
}
