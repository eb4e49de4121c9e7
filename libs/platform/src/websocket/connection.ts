import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../clock.ts';
import { CLOSE_CODE, encodeFrame, type FrameEvents, FrameReader, OPCODE } from './frames.ts';

/** The ping interval. Pings detect a lost client even while nothing is read from it. */
const PING_MS = 30_000;
/** Deadline for a client to confirm the close. */
const CLOSE_MS = 5_000;
/** Pongs that the client has not read. A client that exceeds this is disconnected. */
const PONGS_PENDING_MAX_BYTES = 1024 * 1024;

export interface WebSocketConnection {
  /** Calls `done` when the bytes were sent or never will be. */
  send(payload: Uint8Array, done?: () => void, kind?: 'binary' | 'text'): void;
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  /** Sends a close frame. The socket is destroyed when the client answers or the deadline passes. */
  close(code: number): void;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
}

/** Takes over a connection after its handshake. `onData` gets messages in pieces. */
export function acceptWebSocket(
  socket: Duplex,
  head: Uint8Array,
  deps: { readonly clock: Clock; readonly onData: FrameEvents['data'] },
): WebSocketConnection {
  const gone = Promise.withResolvers<void>();
  let closing: Timer | undefined;
  const write = (opcode: number, payload: Uint8Array, done: () => void = () => undefined): void => {
    if (socket.writable) socket.write(encodeFrame(opcode, payload), () => done());
    else done();
  };
  const close = (code: number): void => {
    if (closing !== undefined || socket.destroyed) return;
    closing = deps.clock.timer(CLOSE_MS, () => socket.destroy());
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    write(OPCODE.close, payload);
    socket.resume();
  };
  let pongsPending = 0;
  const pong = (payload: Buffer): void => {
    pongsPending += payload.length + 2;
    write(OPCODE.pong, payload, () => (pongsPending -= payload.length + 2));
    if (pongsPending > PONGS_PENDING_MAX_BYTES) socket.destroy();
  };
  const reader = new FrameReader({
    data: (piece, place) => {
      if (closing === undefined) deps.onData(piece, place);
    },
    ping: pong,
    pong: () => undefined,
    close: () => {
      close(CLOSE_CODE.normal);
      socket.end();
    },
  });
  const read = (chunk: Buffer): void => {
    try {
      reader.push(chunk);
    } catch {
      close(CLOSE_CODE.protocolError);
      socket.off('data', read);
      socket.end();
    }
  };
  const ping = (): Timer =>
    deps.clock.timer(PING_MS, () => {
      write(OPCODE.ping, new Uint8Array());
      life = ping();
    });
  let life = ping();
  socket.once('close', () => {
    closing?.cancel();
    life.cancel();
    gone.resolve();
  });
  // 'close' always follows 'error'.
  socket.on('error', () => socket.destroy());
  socket.once('end', () => socket.destroy());
  socket.on('data', read);
  if (head.length > 0) socket.unshift(head);
  return {
    send: (payload, done, kind = 'binary') => write(kind === 'text' ? OPCODE.text : OPCODE.binary, payload, done),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close,
    closed: gone.promise,
  };
}
