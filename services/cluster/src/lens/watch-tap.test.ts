import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatchFrame } from '@holdfast/client';
import { nextTurn } from '@holdfast/platform';
import { frameOf, watchAnswer } from './answers.ts';
import { WatchTap } from './watch-tap.ts';

/** A server that sends as fast as it is read. */
function counting(until: number) {
  const source = { read: 0, isLeft: false };
  async function* frames(): AsyncGenerator<WatchFrame, undefined> {
    try {
      while (source.read < until) yield frameOf({ type: 'ADDED', object: ++source.read });
    } finally {
      source.isLeft = true;
    }
    return undefined;
  }
  return { source, frames: frames() };
}

const numberOf = async (tap: WatchTap): Promise<unknown> => (await tap.next()).value?.value().object;

test('without a lens the server is read as fast as the client reads', async () => {
  const { source, frames } = counting(100);
  const tap = new WatchTap(frames, () => {});
  assert.deepEqual([await numberOf(tap), await numberOf(tap)], [1, 2]);
  await nextTurn();
  assert.equal(source.read, 2);
  await tap.return();
  await nextTurn();
  assert.equal(source.isLeft, true);
});

for (const isWaiting of [true, false]) {
  test(`two lenses lose nothing and keep the order; the client ${isWaiting ? 'waits' : 'does not wait'} meanwhile`, async () => {
    const { frames } = counting(6);
    let isOver = false;
    const tap = new WatchTap(frames, () => {
      isOver = true;
    });
    assert.equal(await numberOf(tap), 1);
    const second = isWaiting ? numberOf(tap) : undefined;
    await Promise.all([tap.insert(async (each) => watchAnswer(each)), tap.insert(async (each) => watchAnswer(each))]);
    const seen = [await (second ?? numberOf(tap))];
    for (let i = 0; i < 5; i++) seen.push(await numberOf(tap));
    assert.deepEqual(seen, [2, 3, 4, 5, 6, undefined]);
    assert.equal(isOver, true);
  });
}
