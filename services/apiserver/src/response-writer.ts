import type { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';
import type { ApiResponse, WatchFrame } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { PIECE_BYTES } from './http/pieces.ts';

type RawResponse = ServerResponse | Http2ServerResponse;

export interface WriteOptions {
  readonly headOnly: boolean;
  /** A client that takes nothing for this long is cut off. */
  readonly stallMs: number;
  readonly clock: Clock;
}

/** Writes one answer. Resolves when it was handed over completely, or when the client went away. */
export async function writeResponse(raw: RawResponse, response: ApiResponse, options: WriteOptions): Promise<void> {
  const { body } = response;
  raw.statusCode = response.status;
  for (const [name, value] of Object.entries(response.headers)) raw.setHeader(name, value);
  raw.setHeader('cache-control', 'no-cache, private');
  switch (body.kind) {
    case 'empty':
      raw.end();
      return;
    case 'text':
      return writeParts(raw, [Buffer.from(body.text)], options);
    case 'json':
      return writeParts(raw, body.parts?.() ?? [body.bytes()], options);
    case 'watch':
      return writeChunks(raw, encoded(body.frames), options);
    case 'stream':
      return writeChunks(raw, body.chunks, options);
  }
}

/**
 * A long answer leaves in pieces: a slow client holds one of them and not a copy of everything, and the other requests of
 * its HTTP/2 session are not refused because of the memory that one answer takes.
 */
async function writeParts(raw: RawResponse, parts: readonly Uint8Array[], options: WriteOptions): Promise<void> {
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  raw.setHeader('content-length', length);
  if (options.headOnly) raw.end();
  else if (length <= PIECE_BYTES) writeAll(raw, parts, length);
  else await writePieces(raw, pieces(parts), options);
}

function writeAll(raw: RawResponse, parts: readonly Uint8Array[], length: number): void {
  raw.end(joined(parts, length));
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [only = NOTHING, ...more] = parts;
  return more.length === 0 ? only : Buffer.concat(parts, length);
}

const NOTHING = new Uint8Array();

async function writePieces(raw: RawResponse, all: Iterable<Uint8Array>, options: WriteOptions): Promise<void> {
  const client = followClient(raw, options);
  for (const piece of all) {
    if (client.gone()) return;
    if (!writeChunk(raw, piece)) await client.ready();
  }
  raw.end();
  await client.ready();
}

function* pieces(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  let collected: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    if (bytes > 0 && bytes + part.byteLength > PIECE_BYTES) {
      yield joined(collected, bytes);
      [collected, bytes] = [[], 0];
    }
    if (part.byteLength > PIECE_BYTES) {
      for (let at = 0; at < part.byteLength; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES);
      continue;
    }
    collected.push(part);
    bytes += part.byteLength;
  }
  if (bytes > 0) yield joined(collected, bytes);
}

async function* encoded(frames: AsyncIterable<WatchFrame>): AsyncGenerator<Uint8Array> {
  for await (const frame of frames) yield frame.bytes();
}

/** Every chunk leaves at once; a client that does not read makes this wait, and its watcher's queue then ends it. */
async function writeChunks(raw: RawResponse, chunks: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<void> {
  flushHead(raw);
  const client = followClient(raw, options);
  for await (const chunk of chunks) {
    if (client.gone()) return;
    if (!writeChunk(raw, chunk)) await client.ready();
  }
  raw.end();
}

interface Client {
  gone(): boolean;
  /** Resolves when the client has taken what was written, or is gone. */
  ready(): Promise<void>;
}

/** A client that stopped reading would keep its connection, and what waits for it, for ever: it is cut off. */
function followClient(raw: RawResponse, { clock, stallMs }: WriteOptions): Client {
  let gone = false;
  let wake: (() => void) | undefined;
  const wakeUp = (): void => wake?.();
  raw.on('drain', wakeUp).once('finish', wakeUp);
  raw.once('close', () => {
    gone = true;
    wakeUp();
  });
  return {
    gone: () => gone,
    ready: async () => {
      if (gone || raw.writableFinished) return;
      // The timeouts of Node's own sockets and streams start again with whatever else happens on the connection.
      const stalled = clock.timer(stallMs, () => raw.destroy());
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      stalled.cancel();
    },
  };
}

/** The client of a quiet watch must learn that it is open before the first event. */
function flushHead(raw: RawResponse): void {
  if (raw instanceof Http2ServerResponse) raw.writeHead(raw.statusCode);
  else raw.flushHeaders();
}

const writeChunk = (raw: RawResponse, bytes: Uint8Array): boolean =>
  raw instanceof Http2ServerResponse ? raw.write(bytes) : raw.write(bytes);
