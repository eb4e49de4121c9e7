import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { Hands } from './time.ts';

const FIVE_MINUTES = JSON.stringify({ duration: '5m' });

test('hands: the time passes for the asked span, until the caller has gone', async () => {
  const asked: { readonly ms: number; readonly signal: AbortSignal | undefined }[] = [];
  const hands = new Hands(createVirtualClock(), { advance: async (ms, signal) => void asked.push({ ms, signal }) });
  const { signal } = new AbortController();
  assert.equal((await hands.advance(FIVE_MINUTES, signal)).kind, 'virtual');
  assert.deepEqual(asked, [{ ms: 300_000, signal }]);
});

test('hands: one advances at a time, and after one that failed the next one may', async () => {
  const first = Promise.withResolvers<void>();
  let count = 0;
  const hands = new Hands(createVirtualClock(), { advance: () => (count++ === 0 ? first.promise : Promise.resolve()) });
  const failing = hands.advance(FIVE_MINUTES, undefined);
  await assert.rejects(hands.advance(FIVE_MINUTES, undefined), /somebody advances the time already/);
  first.reject(new Error('it broke'));
  await assert.rejects(failing, /it broke/);
  await hands.advance(FIVE_MINUTES, undefined);
  assert.equal(count, 2);
});
