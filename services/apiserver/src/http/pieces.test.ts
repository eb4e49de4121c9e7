import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inPieces, joined, PIECE_BYTES, whole } from './pieces.ts';

const stretchesOf = (sizes: readonly number[]) => {
  const all = sizes.map((size, i) => Buffer.alloc(size + i, i + 1));
  return { count: sizes.length, bytes: (i: number) => all[i] ?? Buffer.alloc(0), from: (i: number) => i };
};

test('a document in pieces has the bytes of its stretches, whatever their sizes', () => {
  for (const sizes of [
    [0],
    [1, 2, 3],
    [PIECE_BYTES],
    [PIECE_BYTES - 1, 1, PIECE_BYTES, 1],
    [10, 3 * PIECE_BYTES + 7, 5],
  ]) {
    const stretches = stretchesOf(sizes);
    const wanted = Buffer.concat(sizes.map((_, i) => stretches.bytes(i).subarray(i)));
    const document = inPieces(stretches);
    assert.equal(document.length, wanted.length);
    assert.ok(wanted.equals(joined(document)), `${sizes.join()}`);
  }
});

test('a piece that was sent is filled again, and one that was not is left alone', () => {
  const stretches = stretchesOf([4 * PIECE_BYTES]);
  const document = inPieces(stretches);
  const seen = new Set<Uint8Array>();
  for (const piece of document.pieces) {
    seen.add(piece);
    document.release?.(piece);
  }
  assert.equal(seen.size, 1);
  const held = [...inPieces(stretches).pieces];
  assert.equal(new Set(held).size, 4);
});

test('bytes that are there already are cut, not copied', () => {
  const bytes = Buffer.alloc(2 * PIECE_BYTES + 1, 7);
  const lengths = [...whole(bytes).pieces].map((piece) => piece.length);
  assert.deepEqual(lengths, [PIECE_BYTES, PIECE_BYTES, 1]);
});
