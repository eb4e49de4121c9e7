import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  brokenCounter,
  brokenCreates,
  brokenHolds,
  type Hold,
  hangingRequests,
  type Increment,
  type Outcome,
} from './acknowledged.ts';

test('what was acknowledged is stored, what was refused is not, and nothing else is there', () => {
  const created = new Map<string, Outcome>([
    ['a', 'acknowledged'],
    ['b', 'unknown'],
    ['c', 'refused'],
  ]);
  assert.deepEqual(brokenCreates(created, new Set(['a'])), []);
  assert.deepEqual(brokenCreates(created, new Set(['a', 'b'])), []);
  assert.deepEqual(brokenCreates(created, new Set(['b'])), ['a was acknowledged, and is not stored']);
  assert.deepEqual(brokenCreates(created, new Set(['a', 'c'])), ['c was refused, and is stored']);
  assert.deepEqual(brokenCreates(created, new Set(['a', 'd'])), ['d is stored, and nobody has asked for it']);
});

const counted = (outcome: Outcome, to: number): Increment => ({ outcome, to });

test('a counter lies between what was acknowledged and what may have happened', () => {
  const increments = [
    counted('acknowledged', 1),
    counted('acknowledged', 2),
    counted('unknown', 3),
    counted('refused', 3),
  ];
  assert.deepEqual(
    [2, 3].flatMap((stored) => brokenCounter(increments, stored)),
    [],
  );
  for (const stored of [1, 4]) assert.equal(brokenCounter(increments, stored).length, 1, String(stored));
});

test('no two increments to the same number are acknowledged, also where an unknown one makes up for the loss', () => {
  const increments = [counted('unknown', 1), counted('acknowledged', 2), counted('acknowledged', 2)];
  assert.deepEqual(brokenCounter(increments, 2), ['two increments to 2 were acknowledged']);
});

const hold = (holder: string, token: number, fromMs: number, toMs: number): Hold => ({ holder, token, fromMs, toMs });

test('a lease has one holder at a time, and its tokens grow', () => {
  assert.deepEqual(brokenHolds([hold('b', 9, 10, 20), hold('a', 5, 0, 10)]), []);
  assert.match(brokenHolds([hold('a', 5, 0, 10), hold('b', 9, 9, 20)])[0] ?? '', /held the lease at the same time$/);
  assert.match(brokenHolds([hold('a', 5, 0, 10), hold('b', 5, 11, 20)])[0] ?? '', /tokens that do not grow$/);
  assert.equal(brokenHolds([hold('a', 5, 0, 30), hold('b', 9, 10, 20), hold('c', 11, 21, 25)]).length, 1);
});

test('a request that does not end within a minute is found, also while it still waits', () => {
  assert.deepEqual(hangingRequests([{ what: 'get', beganMs: 0, endedMs: 60_000 }], 500_000), []);
  assert.deepEqual(hangingRequests([{ what: 'get', beganMs: 0, endedMs: 61_000 }], 500_000), ['get took 61.0 s']);
  assert.deepEqual(hangingRequests([{ what: 'get', beganMs: 0 }], 59_000), []);
  assert.deepEqual(hangingRequests([{ what: 'get', beganMs: 0 }], 70_000), ['get has not ended after 70.0 s']);
});

test('the time in which the server of a request is cut off does not count', () => {
  const request = { what: 'get', server: 1, beganMs: 0, endedMs: 80_000 };
  const silence = { server: 1, fromMs: 50_000, toMs: 90_000 };
  assert.deepEqual(hangingRequests([request], 500_000, [silence]), []);
  assert.deepEqual(hangingRequests([request], 500_000, [{ ...silence, fromMs: 65_000 }]), ['get took 80.0 s']);
  assert.deepEqual(hangingRequests([request], 500_000, [{ ...silence, server: 0 }]), ['get took 80.0 s']);
});
