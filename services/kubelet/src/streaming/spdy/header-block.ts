import { constants, createInflate, type Inflate } from 'node:zlib';
import { SPDY_HEADERS_MAX_BYTES } from '../limits.ts';
import { SPDY_DICTIONARY } from './dictionary.ts';

/** Lower-case names. */
export type SpdyHeaders = Readonly<Record<string, string>>;

export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

/**
 * Writes header blocks as a zlib stream of stored blocks. Nothing is compressed: our headers are a few bytes, and so every
 * block is ready at once. Every inflater reads it.
 */
export function createHeaderWriter(): (headers: SpdyHeaders) => Buffer {
  let begun = false;
  return (headers) => {
    const plain = encodeHeaders(headers);
    const start = begun ? EMPTY : ZLIB_START;
    begun = true;
    return Buffer.concat([start, storedBlock(plain)]);
  };
}

const EMPTY = Buffer.alloc(0);
/** Deflate, window of 32 KB, no dictionary. */
const ZLIB_START = Buffer.from([0x78, 0x01]);
const STORED_MAX_BYTES = 0xffff;

function storedBlock(plain: Buffer): Buffer {
  if (plain.length > STORED_MAX_BYTES) throw new SpdyProtocolError('a header block is too long to be sent');
  const head = Buffer.alloc(5);
  head.writeUInt16LE(plain.length, 1);
  head.writeUInt16LE(~plain.length & 0xffff, 3);
  return Buffer.concat([head, plain, FLUSH]);
}

/** An empty block: readers hand out what they have when they see it, and do not look for the next block before it comes. */
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);

export function encodeHeaders(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  return Buffer.concat([uint32(entries.length), ...entries.flatMap(([name, value]) => [text(name), text(value)])]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function decodeHeaders(bytes: Buffer): SpdyHeaders {
  let offset = 0;
  const number = (): number => {
    if (offset + 4 > bytes.length) throw new SpdyProtocolError('a header block is cut');
    offset += 4;
    return bytes.readUInt32BE(offset - 4);
  };
  const word = (): string => {
    const end = number() + offset;
    if (end > bytes.length) throw new SpdyProtocolError('a header block is cut');
    const value = bytes.toString('utf8', offset, end);
    offset = end;
    return value;
  };
  const headers: [name: string, value: string][] = [];
  for (let left = number(); left > 0; left--) headers.push([word().toLowerCase(), word()]);
  return Object.fromEntries(headers);
}

export interface HeaderReader {
  /** One block at a time. Rejects with `SpdyProtocolError`; after that, and after `close`, every call rejects. */
  read(block: Buffer): Promise<SpdyHeaders>;
  close(): void;
}

/** All blocks of a direction are one compressed stream; each ends where the compressor was flushed. */
export function createHeaderReader(): HeaderReader {
  const inflation = new Inflation();
  return {
    read: async (block) => decodeHeaders(await inflation.next(block)),
    close: () => inflation.end(new SpdyProtocolError('the connection is gone')),
  };
}

interface OpenBlock {
  readonly done: PromiseWithResolvers<Buffer>;
  readonly pieces: Buffer[];
  size: number;
}

/**
 * The listeners stay for the life of the inflater: it may fail after its last write was answered, and an `error` event that
 * nobody listens to ends the process.
 */
class Inflation {
  #inflater: Inflate | undefined;
  #block: OpenBlock | undefined;
  #failure: SpdyProtocolError | undefined;

  next(bytes: Buffer): Promise<Buffer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const block: OpenBlock = { done: Promise.withResolvers<Buffer>(), pieces: [], size: 0 };
    this.#block = block;
    const inflater = (this.#inflater ??= this.#open());
    inflater.write(bytes, (error) => {
      if (error === null || error === undefined) block.done.resolve(Buffer.concat(block.pieces));
      else this.#broken(error);
    });
    return block.done.promise;
  }

  end(failure: SpdyProtocolError): void {
    this.#failure ??= failure;
    this.#block?.done.reject(this.#failure);
    this.#inflater?.destroy();
  }

  #open(): Inflate {
    const inflater = createInflate({ dictionary: SPDY_DICTIONARY, finishFlush: constants.Z_SYNC_FLUSH });
    inflater.on('error', (error) => this.#broken(error));
    inflater.on('data', (piece: Buffer) => this.#take(piece));
    return inflater;
  }

  #take(piece: Buffer): void {
    const block = this.#block;
    if (block === undefined || this.#failure !== undefined) return;
    block.size += piece.length;
    if (block.size > SPDY_HEADERS_MAX_BYTES) this.end(new SpdyProtocolError('a header block is too long'));
    else block.pieces.push(piece);
  }

  #broken(error: Error): void {
    this.end(new SpdyProtocolError(`a header block is broken: ${error.message}`));
  }
}
