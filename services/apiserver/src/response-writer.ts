import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';
import type { ApiResponse, WatchFrame } from '@holdfast/client';

type RawResponse = ServerResponse | Http2ServerResponse;

export interface WriteOptions {
  readonly headOnly: boolean;
  /** A client that takes nothing for this long is cut off. */
  readonly stallMs: number;
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
      return finish(raw, Buffer.from(body.text), options);
    case 'json':
      return body.parts === undefined ? finish(raw, body.bytes(), options) : writeParts(raw, body.parts(), options);
    case 'watch':
      return writeChunks(raw, encoded(body.frames), options);
    case 'stream':
      return writeChunks(raw, body.chunks, options);
  }
}

function finish(raw: RawResponse, bytes: Uint8Array, { headOnly, stallMs }: WriteOptions): void {
  raw.setHeader('content-length', bytes.byteLength);
  if (headOnly) {
    raw.end();
    return;
  }
  // Without this a client that does not read would keep the bytes, and its stream, for ever.
  if (bytes.byteLength > PART_BYTES) raw.setTimeout(stallMs, () => raw.destroy());
  raw.end(bytes);
}

/** What is handed to a connection in one piece; less is not worth a timer or a wait. */
const PART_BYTES = 64 * 1024;

/** A long answer leaves in pieces, so that a slow client holds one of them and not a copy of everything. */
async function writeParts(raw: RawResponse, parts: readonly Uint8Array[], options: WriteOptions): Promise<void> {
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  if (options.headOnly || length <= PART_BYTES) return finish(raw, Buffer.concat(parts, length), options);
  raw.setHeader('content-length', length);
  const taken = takenBy(raw, options.stallMs);
  for (const piece of pieces(parts)) {
    if (raw.destroyed || raw.writableEnded) return;
    if (!writeChunk(raw, piece)) await taken();
  }
  raw.setTimeout(options.stallMs, () => raw.destroy());
  raw.end();
}

function* pieces(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  let collected: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    collected.push(part);
    bytes += part.byteLength;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(collected, bytes);
    collected = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(collected, bytes);
}

async function* encoded(frames: AsyncIterable<WatchFrame>): AsyncGenerator<Uint8Array> {
  for await (const frame of frames) yield frame.bytes();
}

/** Every chunk leaves at once; a client that does not read makes this wait, and its watcher's queue then ends it. */
async function writeChunks(
  raw: RawResponse,
  chunks: AsyncIterable<Uint8Array>,
  { stallMs }: WriteOptions,
): Promise<void> {
  flushHead(raw);
  const taken = takenBy(raw, stallMs);
  for await (const chunk of chunks) {
    if (raw.destroyed || raw.writableEnded) return;
    if (!writeChunk(raw, chunk)) await taken();
  }
  raw.end();
}

/** A wait until the client has taken what was written, or is gone. One that stopped reading would keep its connection for ever, so it is cut off. */
function takenBy(raw: RawResponse, stallMs: number): () => Promise<void> {
  const closed = Promise.withResolvers<void>();
  raw.once('close', () => closed.resolve());
  return async () => {
    raw.setTimeout(stallMs, () => raw.destroy());
    await Promise.race([once(raw, 'drain'), closed.promise]);
    raw.setTimeout(0);
  };
}

/** The client of a quiet watch must learn that it is open before the first event. */
function flushHead(raw: RawResponse): void {
  if (raw instanceof Http2ServerResponse) raw.writeHead(raw.statusCode);
  else raw.flushHeaders();
}

const writeChunk = (raw: RawResponse, bytes: Uint8Array): boolean =>
  raw instanceof Http2ServerResponse ? raw.write(bytes) : raw.write(bytes);
