import type { JsonPieces, ResponseBody, WatchFrame } from '@holdfast/client';
import { joined, PIECE_BYTES, whole } from '../http/pieces.ts';

export interface LongBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<Uint8Array | WatchFrame> | Iterable<Uint8Array>;
  readonly release?: ((piece: Uint8Array) => void) | undefined;
  /** It has no known length and may be compressed all the same. */
  readonly isDocument?: true | undefined;
}

/** A body that leaves piece by piece: a slow client holds a few pieces of it and not a copy of everything. */
export function longBody(body: ResponseBody, method: string): LongBody | undefined {
  switch (body.kind) {
    case 'watch':
      return { headers: {}, chunks: method === 'HEAD' ? [] : body.frames };
    case 'stream':
      return { headers: {}, chunks: method === 'HEAD' ? [] : body.chunks, isDocument: body.isDocument };
    case 'json':
      return longDocument(body.pieces?.() ?? whole(body.bytes()), method);
    case 'text':
      return longDocument(whole(Buffer.from(body.text)), method);
    case 'empty':
      return undefined;
  }
}

function longDocument({ length, pieces, release }: JsonPieces, method: string): LongBody | undefined {
  if (length <= PIECE_BYTES) return undefined;
  return { headers: { 'content-length': String(length) }, chunks: method === 'HEAD' ? [] : pieces, release };
}

/** Cancels the source of the unsent rest. */
export async function discard(body: ResponseBody): Promise<void> {
  const chunks = body.kind === 'watch' ? body.frames : body.kind === 'stream' ? body.chunks : undefined;
  await chunks?.[Symbol.asyncIterator]().return?.();
}

export function shortBody(body: ResponseBody): Uint8Array {
  if (body.kind === 'text') return Buffer.from(body.text);
  if (body.kind !== 'json') return NOTHING;
  const pieces = body.pieces?.();
  return pieces === undefined ? body.bytes() : joined(pieces);
}

const NOTHING = Buffer.alloc(0);
