import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { AnswerShare, ChunkWindow, RECEIPT_BYTES } from './chunk-window.ts';

const KIB = 1024;
const CHUNK = 16 * KIB;

/** Sends until it must wait; returns the sent bytes. */
function sendAll(window: ChunkWindow): number {
  for (let sent = CHUNK; ; sent += CHUNK) if (!window.sent(CHUNK)) return sent;
}

test('one answer to a reading client has two megabytes in flight', () => {
  const window = new ChunkWindow(new AnswerShare(64 * KIB * KIB));
  for (let n = 0; n < 20; n++) window.taken(sendAll(window));
  assert.equal(sendAll(window), 2 * KIB * KIB);
});

test('many unread answers share one bound of bytes in flight, plus one receipt each', () => {
  const share = new AnswerShare(8 * KIB * KIB);
  const windows = Array.from({ length: 600 }, () => new ChunkWindow(share));
  const first = windows.reduce((sum, window) => sum + sendAll(window), 0);
  assert.ok(first <= 8 * KIB * KIB + 600 * RECEIPT_BYTES, `${first} bytes`);
  const late = new ChunkWindow(share);
  assert.equal(sendAll(late), RECEIPT_BYTES, 'one more gets as much through as a receipt covers');
  late.taken(RECEIPT_BYTES);
  assert.equal(sendAll(late), RECEIPT_BYTES, 'and goes on when it reads');
});

test('an ended or cancelled request returns its share of the window', () => {
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

test('small chunks continue next to unread answers, without a receipt for each chunk', () => {
  const share = new AnswerShare(8 * KIB * KIB);
  for (let n = 0; n < 600; n++) sendAll(new ChunkWindow(share));
  const window = new ChunkWindow(share);
  for (let sent = KIB; sent < RECEIPT_BYTES; sent += KIB) assert.ok(window.sent(KIB), `waits after ${sent} bytes`);
  assert.equal(window.sent(KIB), false);
});
