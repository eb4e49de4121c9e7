import type { ResponseBody, WatchFrame } from '@holdfast/client';
import { joined, PIECE_BYTES, whole } from '../http/pieces.ts';

export interface LongBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<Uint8Array | WatchFrame> | Iterable<Uint8Array>;
  readonly release?: ((piece: Uint8Array) => void) | undefined;
}

/** A body that leaves piece by piece: a slow client holds a few pieces of it and not a copy of everything. */
export function longBody(body: ResponseBody, method: string): LongBody | undefined {
  switch (body.kind) {
    case 'watch':
      return { headers: {}, chunks: body.frames };
    case 'stream':
      return { headers: {}, chunks: body.chunks };
    case 'json': {
      const document = body.pieces?.() ?? whole(body.bytes());
      if (document.length <= PIECE_BYTES) return undefined;
      const { length, pieces, release } = document;
      return { headers: { 'content-length': String(length) }, chunks: method === 'HEAD' ? [] : pieces, release };
    }
    case 'empty':
    case 'text':
      return undefined;
  }
}

export function shortBody(body: ResponseBody): Uint8Array {
  if (body.kind === 'text') return Buffer.from(body.text);
  if (body.kind !== 'json') return NOTHING;
  const pieces = body.pieces?.();
  return pieces === undefined ? body.bytes() : joined(pieces);
}

const NOTHING = Buffer.alloc(0);
