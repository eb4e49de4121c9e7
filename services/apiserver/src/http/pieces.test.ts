import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inPieces, joined, madeInPieces, PIECE_BYTES, partsInPieces, whole } from './pieces.ts';

const [HEAD, TAIL] = [Buffer.from('['), Buffer.from(']')];

const itemOf = (bytes: Buffer, metadataAt: number) => ({
  bytes,
  lend: () => bytes,
  byteLength: bytes.length,
  metadataAt,
});

/** Items of these sizes behind a prefix that the list leaves out. */
const listOf = (sizes: readonly number[]) => ({
  head: HEAD,
  items: sizes.map((size, i) => itemOf(Buffer.alloc(size + i, i + 1), i)),
  tail: TAIL,
});

test('a list in pieces has the bytes of its items, whatever their sizes', () => {
  for (const sizes of [
    [],
    [1, 2, 3],
    [PIECE_BYTES],
    [PIECE_BYTES - 1, 1, PIECE_BYTES, 1],
    [10, 3 * PIECE_BYTES + 7, 5],
    ...Array.from({ length: 8 }, (_, i) => [PIECE_BYTES - i, 3]),
  ]) {
    const list = listOf(sizes);
    const items = list.items.map(({ bytes, metadataAt }, i) =>
      Buffer.concat([Buffer.from(i === 0 ? '{' : ',{'), bytes.subarray(metadataAt)]),
    );
    const wanted = Buffer.concat([HEAD, ...items, TAIL]);
    const document = inPieces(list);
    assert.equal(document.length, wanted.length);
    const pieces = [...inPieces(list).pieces];
    assert.ok(pieces.slice(0, -1).every((piece) => piece.length === PIECE_BYTES));
    assert.ok(wanted.equals(joined(document)), `${sizes.join()}`);
  }
});

test('parts are concatenated unchanged, whatever their sizes', () => {
  for (const sizes of [[], [0], [1, 0, 2], [PIECE_BYTES], [PIECE_BYTES - 1, 1, 1], [3 * PIECE_BYTES + 7, 5]]) {
    const parts = sizes.map((size, i) => Buffer.alloc(size, i + 1));
    const document = partsInPieces(parts);
    assert.equal(document.length, Buffer.concat(parts).length);
    assert.ok(Buffer.concat(parts).equals(joined(document)), `${sizes.join()}`);
  }
});

test('a released piece is reused, an unreleased one is not', () => {
  const list = listOf([4 * PIECE_BYTES - 3]);
  const document = inPieces(list);
  const seen = new Set<Uint8Array>();
  for (const piece of document.pieces) {
    seen.add(piece);
    document.release?.(piece);
  }
  assert.equal(seen.size, 1);
  const held = [...inPieces(list).pieces];
  assert.equal(new Set(held).size, 4);
});

test('a piece transferred to another thread in the middle of the document is replaced', () => {
  const list = listOf([2 * PIECE_BYTES, 10, PIECE_BYTES]);
  const wanted = Buffer.from(joined(inPieces(list)));
  const moved = [...inPieces(list).pieces].map(({ length }) => length);
  const sent: Uint8Array[] = [];
  for (const piece of inPieces(list).pieces) {
    const { buffer, length } = piece;
    const isWhole = length === PIECE_BYTES && buffer instanceof ArrayBuffer;
    sent.push(isWhole ? structuredClone(piece, { transfer: [buffer] }) : piece);
  }
  assert.deepEqual(
    sent.map(({ length }) => length),
    moved,
  );
  assert.ok(Buffer.concat(sent).equals(wanted));
});

test('existing bytes are sliced, not copied', () => {
  const bytes = Buffer.alloc(2 * PIECE_BYTES + 1, 7);
  const lengths = [...whole(bytes).pieces].map((piece) => piece.length);
  assert.deepEqual(lengths, [PIECE_BYTES, PIECE_BYTES, 1]);
});

test('items of a long list are written into the pieces; items that cross the end of a piece, or cannot be written, are lent', () => {
  const bytes = Buffer.from(`head${'x'.repeat(9_000)}`);
  let written = 0;
  const items = Array.from({ length: 2_000 }, (_, i) => ({
    get bytes(): Buffer {
      throw new Error('a long list keeps no bytes');
    },
    lend: () => bytes,
    byteLength: bytes.length,
    metadataAt: 4,
    writeMetadataOn: (target: Buffer, at: number) => {
      if (i % 10 === 3) return false;
      written += 1;
      return bytes.copy(target, at, 4) > 0;
    },
  }));
  const content = bytes.subarray(4).toString();
  const wanted = Buffer.from(`[{${items.map(() => content).join(',{')}]`);
  assert.ok(wanted.equals(joined(inPieces({ head: HEAD, items, tail: TAIL }))));
  // Two of seven lie over the end of a piece.
  assert.ok(written > 1_200, `${written} items wrote themselves`);
});

test('lazily produced parts give the bytes of the whole, whatever their sizes', () => {
  for (const sizes of [[], [1, 2], [PIECE_BYTES], [PIECE_BYTES - 2, 1, PIECE_BYTES], [3 * PIECE_BYTES + 7, 5]]) {
    const lent = Buffer.alloc(4 * PIECE_BYTES);
    const items = function* (): Generator<readonly [Buffer, Buffer]> {
      for (const [i, size] of sizes.entries()) yield [Buffer.from(':'), lent.fill(i + 1).subarray(0, size)];
    };
    const wanted = Buffer.concat([
      HEAD,
      ...sizes.flatMap((size, i) => [Buffer.from(':'), Buffer.alloc(size, i + 1)]),
      TAIL,
    ]);
    const length = wanted.length - HEAD.length - TAIL.length;
    const document = madeInPieces({ head: HEAD, items: items(), length, tail: TAIL });
    assert.equal(document.length, wanted.length);
    assert.ok(wanted.equals(joined(document)), sizes.join());
  }
});
