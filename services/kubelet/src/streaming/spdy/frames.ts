import { SPDY_CONTROL_FRAME_MAX_BYTES } from '../limits.ts';
import { SpdyProtocolError } from './header-block.ts';

/** The frames of SPDY/3.1 that streams of commands and ports need. */
export const FRAME = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const FLAG_FIN = 1;
export const RST_STATUS = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

const VERSION = 3;
const HEAD_BYTES = 8;

export type SpdyFrame =
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer }
  /** A piece of a data frame; `fin` on the last one. */
  | { readonly kind: 'data'; readonly stream: number; readonly fin: boolean; readonly piece: Buffer };

export function controlFrame(type: number, flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16BE(0x8000 | VERSION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(payload.length, 4);
  head[4] = flags;
  return Buffer.concat([head, payload]);
}

export function dataFrame(stream: number, flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(stream, 0);
  head.writeUInt32BE(payload.length, 4);
  head[4] = flags;
  return Buffer.concat([head, payload]);
}

interface OpenFrame {
  readonly stream: number;
  readonly fin: boolean;
  left: number;
}

/** Cuts bytes into frames; data comes in the pieces in which it arrived, so that nothing large is kept. */
export class SpdyFrameReader {
  #pending: Buffer = Buffer.alloc(0);
  #open: OpenFrame | undefined;

  push(chunk: Buffer): readonly SpdyFrame[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const frames: SpdyFrame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): SpdyFrame | undefined {
    if (this.#open !== undefined) return this.#pending.length === 0 ? undefined : this.#piece(this.#open);
    if (this.#pending.length < HEAD_BYTES) return undefined;
    const head = this.#pending.readUInt32BE(0);
    const flags = this.#pending[4] ?? 0;
    const length = this.#pending.readUInt32BE(4) & 0xff_ffff;
    if (head < 0x8000_0000) {
      this.#pending = this.#pending.subarray(HEAD_BYTES);
      return this.#piece({ stream: head, fin: (flags & FLAG_FIN) !== 0, left: length });
    }
    if (((head >>> 16) & 0x7fff) !== VERSION) throw new SpdyProtocolError('a frame has an unsupported version');
    if (length > SPDY_CONTROL_FRAME_MAX_BYTES) throw new SpdyProtocolError('a control frame is too long');
    if (this.#pending.length < HEAD_BYTES + length) return undefined;
    const payload = this.#pending.subarray(HEAD_BYTES, HEAD_BYTES + length);
    this.#pending = this.#pending.subarray(HEAD_BYTES + length);
    return { kind: 'control', type: head & 0xffff, flags, payload };
  }

  #piece(frame: OpenFrame): SpdyFrame {
    const piece = this.#pending.subarray(0, frame.left);
    this.#pending = this.#pending.subarray(piece.length);
    frame.left -= piece.length;
    this.#open = frame.left === 0 ? undefined : frame;
    return { kind: 'data', stream: frame.stream, fin: frame.fin && frame.left === 0, piece };
  }
}
