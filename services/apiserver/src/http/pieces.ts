import type { JsonPieces } from '@holdfast/client';
import { invariant } from '@holdfast/platform';

/** The size of one write: large enough that a long response has few, small enough to hold for a slow client. */
export const PIECE_BYTES = 64 * 1024;

/**
 * Sent pieces that are kept to be filled again. Without them a few long lists make V8 collect its whole heap for their sake. Each is
 * all of its memory, so that it can be moved to the thread that sends it, and back.
 */
const SPARE_PIECES_MAX = 32;
const spare: Buffer[] = [];

/** The JSON of a list: its items stand as objects between what begins it and what ends it. */
export interface ItemList {
  readonly head: Buffer;
  readonly items: readonly Item[];
  readonly tail: Buffer;
}

export interface Item {
  /** Made once and kept. */
  readonly bytes: Buffer;
  /** The same, made to be copied at once. */
  lend(): Buffer;
  readonly byteLength: number;
  /** Where its first field begins that the list repeats. */
  readonly metadataAt: number;
  /** Writes its bytes from `metadataAt` on without making them; false when it cannot. */
  writeMetadataOn?(target: Buffer, at: number): boolean;
}

/** A document of parts that are made when they are about to be sent. */
export interface MadeParts {
  readonly head: Buffer;
  /** Each is valid until the next one is asked for. */
  readonly items: Iterable<readonly [head: Buffer, content: Buffer]>;
  /** The length of all items, heads included. */
  readonly length: number;
  readonly tail: Buffer;
}

/** A document whose parts are not kept: every byte is copied once, when it is about to be sent. */
export function madeInPieces(parts: MadeParts): JsonPieces {
  const length = parts.head.length + parts.length + parts.tail.length;
  return { length, pieces: filledAsMade(parts, length), release };
}

function* filledAsMade({ head, items, tail }: MadeParts, length: number): Generator<Buffer> {
  const filling = new Filling(length);
  yield* filling.add(head);
  for (const [opening, content] of items) {
    if (!filling.fits(opening, content, 0)) yield* filling.add(Buffer.concat([opening, content]));
  }
  yield* filling.add(tail);
  yield* filling.rest();
}

/** The items of a longer list do not keep the bytes that it made of them: they would take more memory than all objects. */
export const KEPT_LIST_BYTES_MAX = 16 * 1024 * 1024;

const FIRST_ITEM = Buffer.from('{');
const NEXT_ITEM = Buffer.from(',{');
const NO_OPENING = Buffer.alloc(0);

/** Every byte is copied once, when it is about to be sent. */
export function inPieces(list: ItemList): JsonPieces {
  const { head, items, tail } = list;
  let length = head.length + tail.length + 2 * items.length - (items.length === 0 ? 0 : 1);
  for (const item of items) length += item.byteLength - item.metadataAt;
  return { length, pieces: filled(list, length), release };
}

/** A document of parts that follow each other as they are. */
export function partsInPieces(parts: readonly Buffer[]): JsonPieces {
  let length = 0;
  for (const part of parts) length += part.length;
  return { length, pieces: filledWith(parts, length), release };
}

function* filledWith(parts: readonly Buffer[], length: number): Generator<Buffer> {
  const filling = new Filling(length);
  for (const part of parts) {
    if (!filling.fits(NO_OPENING, part, 0)) yield* filling.add(part);
  }
  yield* filling.rest();
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

/**
 * A list is often requested before V8 has compiled this: so few calls per item, and a generator that yields only
 * between pieces.
 */
function* filled({ head, items, tail }: ItemList, length: number): Generator<Buffer> {
  const filling = new Filling(length);
  yield* filling.add(head);
  let opening = FIRST_ITEM;
  const isKept = length <= KEPT_LIST_BYTES_MAX;
  for (const item of items) {
    if (!isKept && filling.writes(opening, item)) {
      opening = NEXT_ITEM;
      continue;
    }
    const bytes = isKept ? item.bytes : item.lend();
    const { metadataAt } = item;
    if (!filling.fits(opening, bytes, metadataAt)) {
      yield* filling.add(Buffer.concat([opening, bytes.subarray(metadataAt)]));
    }
    opening = NEXT_ITEM;
  }
  yield* filling.add(tail);
  yield* filling.rest();
}

class Filling {
  #piece: Buffer;
  #at = 0;
  /** Bytes of the document from the start of this piece. */
  #left: number;

  constructor(length: number) {
    this.#left = length;
    this.#piece = pieceFor(length);
  }

  /** Adds an item, if there is room for all of it. */
  fits(opening: Buffer, bytes: Buffer, from: number): boolean {
    const piece = this.#piece;
    let at = this.#at;
    if (at + opening.length + bytes.length - from > piece.length) return false;
    for (const byte of opening) piece[at++] = byte;
    this.#at = at + bytes.copy(piece, at, from);
    return true;
  }

  /** Lets an item write itself, if there is room for all of it and it can. */
  writes(opening: Buffer, item: Item): boolean {
    const at = this.#at + opening.length;
    const end = at + item.byteLength - item.metadataAt;
    if (end > this.#piece.length || item.writeMetadataOn?.(this.#piece, at) !== true) return false;
    opening.copy(this.#piece, this.#at);
    this.#at = end;
    return true;
  }

  /** Adds bytes that may go over the end of the piece, and of more of them. */
  *add(bytes: Buffer): Generator<Buffer> {
    for (let from = 0; from < bytes.length; ) {
      if (this.#at === this.#piece.length) {
        this.#left -= this.#piece.length;
        yield this.#piece;
        // It may have been transferred or released by now.
        this.#turn();
      }
      const copied = bytes.copy(this.#piece, this.#at, from);
      this.#at += copied;
      from += copied;
    }
  }

  *rest(): Generator<Buffer> {
    invariant(this.#at === this.#left, 'a document has its declared length');
    if (this.#at > 0) yield this.#piece;
  }

  #turn(): void {
    invariant(this.#left > 0, 'a document has its declared length');
    this.#piece = pieceFor(this.#left);
    this.#at = 0;
  }
}

const pieceFor = (left: number): Buffer =>
  left < PIECE_BYTES ? Buffer.allocUnsafe(left) : (spare.pop() ?? Buffer.from(new ArrayBuffer(PIECE_BYTES)));

function release(piece: Uint8Array): void {
  if (piece.length === PIECE_BYTES && spare.length < SPARE_PIECES_MAX && Buffer.isBuffer(piece)) spare.push(piece);
}
