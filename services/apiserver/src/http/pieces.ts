import type { JsonPieces } from '@holdfast/client';
import { invariant } from '@holdfast/platform';

/** What is handed to a connection at once: large enough that few of them make up a long answer, small enough to hold for a slow client. */
export const PIECE_BYTES = 64 * 1024;

/**
 * Sent pieces that are kept to be filled again. Without them a few long lists make V8 collect its whole heap for their sake. Each is
 * all of its memory, so that it can be moved to the thread that sends it, and back.
 */
const SPARE_PIECES_MAX = 32;
const spare: Buffer[] = [];

/** Stretches of bytes, asked for by their number: ten thousand of them are nothing that should be made for one answer. */
export interface Stretches {
  readonly count: number;
  readonly bytes: (index: number) => Buffer;
  /** Where in the bytes the stretch begins; it goes on to their end. */
  readonly from: (index: number) => number;
}

/** A document made of such stretches. Every byte is copied once, when it is about to be sent. */
export function inPieces(stretches: Stretches): JsonPieces {
  let length = 0;
  for (let i = 0; i < stretches.count; i++) length += stretches.bytes(i).length - stretches.from(i);
  return { length, pieces: filled(stretches, length), release };
}

/** A document that is there already. */
export function whole(bytes: Uint8Array): JsonPieces {
  return { length: bytes.length, pieces: slices(bytes) };
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** The document in one. */
export function joined({ length, pieces, release: giveBack }: JsonPieces): Uint8Array {
  const all = [...pieces];
  const [first = NOTHING] = all;
  if (all.length <= 1) return first;
  const document = Buffer.concat(all, length);
  for (const piece of all) giveBack?.(piece);
  return document;
}

const NOTHING = new Uint8Array();

function* filled(stretches: Stretches, length: number): Generator<Buffer> {
  let left = length;
  let piece = pieceFor(left);
  let at = 0;
  for (let i = 0; i < stretches.count; i++) {
    const bytes = stretches.bytes(i);
    for (let start = stretches.from(i); start < bytes.length; ) {
      const copied = copy(bytes, start, piece, at);
      at += copied;
      start += copied;
      if (at < piece.length) continue;
      left -= at;
      yield piece;
      piece = pieceFor(left);
      at = 0;
      invariant(left > 0 || start === bytes.length, 'a document is as long as it was said to be');
    }
  }
}

/** A call to the machine for a comma costs more than the comma. */
const FEW_BYTES = 8;

function copy(bytes: Buffer, start: number, piece: Buffer, at: number): number {
  const length = Math.min(bytes.length - start, piece.length - at);
  if (length > FEW_BYTES) return bytes.copy(piece, at, start, start + length);
  for (let i = 0; i < length; i++) piece[at + i] = bytes[start + i] ?? 0;
  return length;
}

const pieceFor = (left: number): Buffer =>
  left < PIECE_BYTES ? Buffer.allocUnsafe(left) : (spare.pop() ?? Buffer.from(new ArrayBuffer(PIECE_BYTES)));

function release(piece: Uint8Array): void {
  if (piece.length === PIECE_BYTES && spare.length < SPARE_PIECES_MAX && Buffer.isBuffer(piece)) spare.push(piece);
}
