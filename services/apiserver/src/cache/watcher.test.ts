import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatchFrame } from '@holdfast/client';
import { CacheEvent } from './cache-event.ts';
import { CachedObject } from './cached-object.ts';
import { shareFrame, Watcher } from './watcher.ts';

/** An open watch, and what was said about it. */
function makeWatcher() {
  const said: string[] = [];
  let isOver = false;
  const watcher = new Watcher({
    selection: { namespace: undefined, exactName: undefined, exactField: undefined, matches: undefined },
    after: 0,
    queueFramesMax: 10,
    render: shareFrame,
    broken: (story) => said.push(story),
    onEnd: () => void (isOver = true),
  });
  const change = (revision: number): void => {
    const text = '{"kind":"A","apiVersion":"v1","metadata":{}}';
    watcher.offer(new CacheEvent('created', new CachedObject('core/pods/a/x', text, revision), undefined));
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody looks into it
  const bookmark = (revision: number): void => watcher.promise(() => ({}) as WatchFrame, revision);
  const unmakeable = (revision: number): void =>
    watcher.promise(() => {
      throw new Error('no such frame');
    }, revision);
  return { said, change, bookmark, unmakeable, frames: watcher[Symbol.asyncIterator](), isOver: () => isOver };
}

test('I10: a watch is cut when a change comes behind a bookmark that counts it in', () => {
  const { said, change, bookmark, isOver } = makeWatcher();
  change(3);
  bookmark(5);
  change(6);
  assert.equal(isOver(), false);
  bookmark(9);
  change(8);
  assert.equal(isOver(), true);
  assert.deepEqual(said, ['a change of revision 8 came behind a bookmark of 9']);
});

test('I10: a change that the client has already is no reason to cut its watch', () => {
  const { said, change, bookmark, isOver } = makeWatcher();
  change(3);
  bookmark(3);
  change(3);
  assert.deepEqual([said, isOver()], [[], false]);
});

test('a frame that cannot be made breaks the stream of a client that waits for it, and the watch ends', async () => {
  const { unmakeable, frames, isOver } = makeWatcher();
  const waiting = frames.next();
  unmakeable(3);
  // The client is told by now: a watch that hangs fails here.
  assert.equal(isOver(), true);
  await assert.rejects(waiting, /no such frame/);
  assert.equal((await frames.next()).done, true);
});

test('a queued frame that cannot be made ends the watch when it is taken', async () => {
  const { change, unmakeable, frames, isOver } = makeWatcher();
  unmakeable(3);
  change(4);
  await assert.rejects(async () => frames.next(), /no such frame/);
  assert.equal(isOver(), true);
  assert.equal((await frames.next()).done, true);
});
