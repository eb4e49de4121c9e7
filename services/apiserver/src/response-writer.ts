import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';
import type { ApiResponse, WatchFrame } from '@holdfast/client';

import { WATCH_WRITE_STALL_MS } from './limits.ts';

type RawResponse = ServerResponse | Http2ServerResponse;

/** Writes one answer. Resolves when it was handed over completely, or when the client went away. */
export async function writeResponse(raw: RawResponse, response: ApiResponse, headOnly: boolean): Promise<void> {
  const { body } = response;
  raw.statusCode = response.status;
  for (const [name, value] of Object.entries(response.headers)) raw.setHeader(name, value);
  raw.setHeader('cache-control', 'no-cache, private');
  switch (body.kind) {
    case 'empty':
      raw.end();
      return;
    case 'text':
      return finish(raw, Buffer.from(body.text), headOnly);
    case 'json':
      return finish(raw, body.bytes(), headOnly);
    case 'watch':
      return writeChunks(raw, encoded(body.frames));
    case 'stream':
      return writeChunks(raw, body.chunks);
  }
}

function finish(raw: RawResponse, bytes: Uint8Array, headOnly: boolean): void {
  raw.setHeader('content-length', bytes.byteLength);
  if (headOnly) raw.end();
  else raw.end(bytes);
}

async function* encoded(frames: AsyncIterable<WatchFrame>): AsyncGenerator<Uint8Array> {
  for await (const frame of frames) yield frame.bytes();
}

/** Every chunk leaves at once; a client that does not read makes this wait, and its watcher's queue then ends it. */
async function writeChunks(raw: RawResponse, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  flushHead(raw);
  const closed = Promise.withResolvers<void>();
  raw.once('close', () => closed.resolve());
  for await (const chunk of chunks) {
    if (raw.destroyed || raw.writableEnded) return;
    if (writeChunk(raw, chunk)) continue;
    // Without this a client that stopped reading would keep its connection, and this loop, for ever.
    raw.setTimeout(WATCH_WRITE_STALL_MS, () => raw.destroy());
    await Promise.race([once(raw, 'drain'), closed.promise]);
    raw.setTimeout(0);
  }
  raw.end();
}

/** The client of a quiet watch must learn that it is open before the first event. */
function flushHead(raw: RawResponse): void {
  if (raw instanceof Http2ServerResponse) raw.writeHead(raw.statusCode);
  else raw.flushHeaders();
}

const writeChunk = (raw: RawResponse, bytes: Uint8Array): boolean =>
  raw instanceof Http2ServerResponse ? raw.write(bytes) : raw.write(bytes);
