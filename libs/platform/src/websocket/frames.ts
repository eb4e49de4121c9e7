import { createHash } from 'node:crypto';

/** RFC 6455, server side: client frames are masked, ours are not. No extensions. */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export const CLOSE_CODE = { normal: 1000, protocolError: 1002, tooBig: 1009, internalError: 1011 } as const;

const HANDSHAKE_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Returns `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`. */
export function acceptKey(key: string): string {
  return createHash('sha1').update(`${key}${HANDSHAKE_KEY}`).digest('base64');
}

export function encodeFrame(opcode: number, payload: Uint8Array): Buffer {
  const head = payload.length < 126 ? 2 : payload.length < 0x1_0000 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + payload.length);
  frame[0] = 0x80 | opcode;
  if (head === 2) frame[1] = payload.length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(payload.length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  frame.set(payload, head);
  return frame;
}

export interface FrameEvents {
  /** Called with each piece of a message as it arrives: the reader does not buffer whole messages. */
  data(piece: Buffer, place: { readonly first: boolean; readonly last: boolean; readonly text: boolean }): void;
  ping(payload: Buffer): void;
  pong(): void;
  close(code: number): void;
}

export class WebSocketProtocolError extends Error {
  override readonly name = 'WebSocketProtocolError';
}

interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly mask: Buffer;
  /** Payload bytes still to come, and payload bytes already read. */
  left: number;
  read: number;
}

const CONTROL_MAX_BYTES = 125;

/** Splits the bytes of a client into frames. Throws `WebSocketProtocolError`. */
export class FrameReader {
  readonly #events: FrameEvents;
  #pending: Buffer = Buffer.alloc(0);
  #frame: Frame | undefined;
  /** The message whose frames are arriving. */
  #message: { readonly text: boolean; begun: boolean } | undefined;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.#step());
  }

  /** Returns true when it consumed something. */
  #step(): boolean {
    this.#frame ??= this.#readHead();
    const frame = this.#frame;
    if (frame === undefined) return false;
    const isControl = frame.opcode >= OPCODE.close;
    if (this.#pending.length < (isControl ? frame.left : Math.min(1, frame.left))) return false;
    const piece = unmask(this.#pending.subarray(0, frame.left), frame);
    this.#pending = this.#pending.subarray(piece.length);
    frame.left -= piece.length;
    frame.read += piece.length;
    if (frame.left === 0) this.#frame = undefined;
    if (isControl) this.#control(frame, piece);
    else this.#data(frame, piece);
    return true;
  }

  #readHead(): Frame | undefined {
    const bytes = this.#pending;
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return undefined;
    const short = second & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if ((first & 0x70) !== 0) throw new WebSocketProtocolError('a frame uses an extension that was not agreed on');
    if ((second & 0x80) === 0) throw new WebSocketProtocolError('a frame of a client is not masked');
    if (bytes.length < head + 4) return undefined;
    const left = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    const frame = {
      final: (first & 0x80) !== 0,
      opcode: first & 0x0f,
      mask: Buffer.from(bytes.subarray(head, head + 4)),
      left,
      read: 0,
    };
    this.#check(frame);
    this.#pending = bytes.subarray(head + 4);
    return frame;
  }

  #check({ opcode, final, left }: Frame): void {
    if (opcode >= OPCODE.close) {
      if (opcode > OPCODE.pong) throw new WebSocketProtocolError(`unknown opcode ${opcode}`);
      if (!final || left > CONTROL_MAX_BYTES) throw new WebSocketProtocolError('a control frame is cut or too long');
      return;
    }
    if (opcode > OPCODE.binary) throw new WebSocketProtocolError(`unknown opcode ${opcode}`);
    if ((opcode === OPCODE.continuation) !== (this.#message !== undefined)) {
      throw new WebSocketProtocolError('the frames of a message do not follow each other');
    }
    if (!Number.isSafeInteger(left)) throw new WebSocketProtocolError('a frame is too long');
    this.#message ??= { text: opcode === OPCODE.text, begun: false };
  }

  #data({ final, left }: Frame, piece: Buffer): void {
    const message = this.#message;
    if (message === undefined) return;
    const last = final && left === 0;
    const first = !message.begun;
    message.begun = true;
    if (last) this.#message = undefined;
    this.#events.data(piece, { first, last, text: message.text });
  }

  #control({ opcode }: Frame, payload: Buffer): void {
    if (opcode === OPCODE.ping) this.#events.ping(payload);
    else if (opcode === OPCODE.pong) this.#events.pong();
    else this.#events.close(payload.length >= 2 ? payload.readUInt16BE(0) : CLOSE_CODE.normal);
  }
}

function unmask(bytes: Buffer, { mask, read }: Frame): Buffer {
  const clear = Buffer.allocUnsafe(bytes.length);
  for (let i = 0; i < bytes.length; i++) clear[i] = (bytes[i] ?? 0) ^ (mask[(read + i) & 3] ?? 0);
  return clear;
}
