import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { AnswerShare, ChunkWindow } from './chunk-window.ts';

const KIB = 1024;
const CHUNK = 16 * KIB;

/** Sends until told to wait; answers the bytes that left. */
function sendAll(window: ChunkWindow): number {
  for (let sent = CHUNK; ; sent += CHUNK) if (!window.sent(CHUNK)) return sent;
}

test('one answer to a client that reads has half a megabyte on its way', () => {
  const window = new ChunkWindow(new AnswerShare(64 * KIB * KIB));
  for (let n = 0; n < 10; n++) window.taken(sendAll(window));
  assert.equal(sendAll(window), 512 * KIB);
});

test('many answers that nobody reads have together no more on their way than their bound, and a chunk each', () => {
  const share = new AnswerShare(8 * KIB * KIB);
  const windows = Array.from({ length: 600 }, () => new ChunkWindow(share));
  const first = windows.reduce((sum, window) => sum + sendAll(window), 0);
  assert.ok(first <= 8 * KIB * KIB + 600 * CHUNK, `${first} bytes`);
  const late = new ChunkWindow(share);
  assert.equal(sendAll(late), CHUNK, 'one more gets a chunk through');
  late.taken(CHUNK);
  assert.equal(sendAll(late), CHUNK, 'and goes on when it reads');
});

test('what has ended, or was left, gives its part back', () => {
  const share = new AnswerShare(8 * KIB * KIB);
  const windows = Array.from({ length: 600 }, () => new ChunkWindow(share));
  for (const [n, window] of windows.entries()) {
    sendAll(window);
    if (n % 2 === 0) window.close();
    window.done();
    window.done();
    window.sent(CHUNK);
  }
  assert.equal(share.part, 8 * KIB * KIB);
});
