import type { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';
import type { ApiResponse, JsonPieces, WatchFrame } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { joined, PIECE_BYTES, whole } from './http/pieces.ts';

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
  const { headers } = response;
  for (const name in headers) raw.setHeader(name, headers[name] ?? '');
  raw.setHeader('cache-control', 'no-cache, private');
  switch (body.kind) {
    case 'empty':
      raw.end();
      return;
    case 'text':
      return writeBytes(raw, Buffer.from(body.text), options);
    case 'json': {
      const pieces = body.pieces?.();
      return pieces === undefined ? writeBytes(raw, body.bytes(), options) : writePieces(raw, pieces, options);
    }
    case 'watch':
      return writeChunks(raw, encoded(body.frames), options);
    case 'stream':
      return writeChunks(raw, body.chunks, options);
  }
}

/** What is short, as nearly every answer is, needs no pieces. */
async function writeBytes(raw: RawResponse, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  if (bytes.length > PIECE_BYTES) return writePieces(raw, whole(bytes), options);
  raw.setHeader('content-length', bytes.length);
  if (options.headOnly) raw.end();
  else raw.end(bytes);
}

/**
 * A long answer leaves in pieces: a slow client holds one of them and not a copy of everything, and the other requests of
 * its HTTP/2 session are not refused because of the memory that one answer takes.
 */
async function writePieces(raw: RawResponse, document: JsonPieces, options: WriteOptions): Promise<void> {
  const { length, pieces, release } = document;
  raw.setHeader('content-length', length);
  if (options.headOnly) return void raw.end();
  if (length <= PIECE_BYTES) return void raw.end(joined(document));
  const client = followClient(raw, options);
  for (const piece of pieces) {
    if (client.gone()) return;
    const sent = (error?: Error | null): void => {
      if (error === undefined || error === null) release(piece);
    };
    if (!writeChunk(raw, piece, sent)) await client.ready();
  }
  raw.end();
  await client.ready();
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

const writeChunk = (
  raw: RawResponse,
  bytes: Uint8Array,
  sent: (error?: Error | null) => void = NOTHING_TO_DO,
): boolean => (raw instanceof Http2ServerResponse ? raw.write(bytes, sent) : raw.write(bytes, sent));

const NOTHING_TO_DO = (): void => {};
