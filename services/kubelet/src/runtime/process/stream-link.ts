import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { STREAM_FRAME_MAX_BYTES, STREAM_WINDOW_BYTES } from './limits.ts';

/**
 * Several streams and small messages over one socket, both ways. Both ends always read the socket, so that its end is seen
 * at once; what makes a fast writer wait are windows: per stream, at most so many bytes are on their way unread.
 *
 * A frame: kind (1 byte), stream (1 byte), length of the payload (4 bytes, big endian), payload.
 */
export interface StreamLink {
  readable(stream: number): Readable;
  writable(stream: number): Writable;
  send(message: object): void;
  /** Settles when the socket is gone. */
  readonly closed: Promise<void>;
  close(): void;
}

const HEAD_BYTES = 6;
const KIND = { data: 0, end: 1, credit: 2, message: 3 } as const;

interface Sending {
  credit: number;
  resume: (() => void) | undefined;
}

export function createStreamLink(socket: Socket, onMessage: (message: unknown) => void): StreamLink {
  return new Link(socket, onMessage);
}

class Link implements StreamLink {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #onMessage: (message: unknown) => void;
  readonly #receiving = new Map<number, Readable>();
  readonly #sending = new Map<number, Sending>();
  #pending: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, onMessage: (message: unknown) => void) {
    this.#socket = socket;
    this.#onMessage = onMessage;
    const gone = Promise.withResolvers<void>();
    this.closed = gone.promise;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    // A peer that was killed resets the connection: 'close' follows.
    socket.on('error', () => socket.destroy());
    socket.once('end', () => socket.destroy());
    socket.once('close', () => {
      this.#endAll();
      gone.resolve();
    });
  }

  readable(stream: number): Readable {
    let unread = 0;
    const readable = new Readable({
      read: () => {
        // Wanted again: what was delivered has been taken.
        if (unread > 0) this.#write(KIND.credit, stream, number(unread));
        unread = 0;
      },
    });
    const push = readable.push.bind(readable);
    readable.push = (chunk: Buffer | null) => {
      unread += chunk?.length ?? 0;
      return push(chunk);
    };
    this.#receiving.set(stream, readable);
    return readable;
  }

  writable(stream: number): Writable {
    const sending: Sending = { credit: STREAM_WINDOW_BYTES, resume: undefined };
    this.#sending.set(stream, sending);
    const write = (chunk: Buffer, done: () => void): void => {
      if (this.#socket.destroyed || chunk.length === 0) return done();
      if (sending.credit === 0) {
        sending.resume = () => write(chunk, done);
        return undefined;
      }
      const part = chunk.subarray(0, Math.min(sending.credit, STREAM_FRAME_MAX_BYTES));
      sending.credit -= part.length;
      this.#write(KIND.data, stream, part);
      return write(chunk.subarray(part.length), done);
    };
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => write(chunk, done),
      final: (done) => {
        this.#write(KIND.end, stream, EMPTY);
        done();
      },
    });
  }

  send(message: object): void {
    this.#write(KIND.message, 0, Buffer.from(JSON.stringify(message)));
  }

  /** Only our half: what the other end still sends would otherwise break its connection before it has read everything. */
  close(): void {
    this.#socket.end();
  }

  #write(kind: number, stream: number, payload: Buffer): void {
    if (!this.#socket.writable) return;
    const head = Buffer.alloc(HEAD_BYTES);
    head[0] = kind;
    head[1] = stream;
    head.writeUInt32BE(payload.length, 2);
    this.#socket.cork();
    this.#socket.write(head);
    if (payload.length > 0) this.#socket.write(payload);
    this.#socket.uncork();
  }

  #receive(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + this.#pending.readUInt32BE(2);
      // The other end is our own program: it never sends more.
      if (end > HEAD_BYTES + STREAM_WINDOW_BYTES) return void this.#socket.destroy();
      if (this.#pending.length < end) return;
      const [kind = 0, stream = 0] = this.#pending;
      const payload = this.#pending.subarray(HEAD_BYTES, end);
      this.#pending = this.#pending.subarray(end);
      this.#take(kind, stream, payload);
    }
  }

  #take(kind: number, stream: number, payload: Buffer): void {
    switch (kind) {
      case KIND.data:
        this.#receiving.get(stream)?.push(payload);
        return;
      case KIND.end:
        this.#receiving.get(stream)?.push(null);
        this.#receiving.delete(stream);
        return;
      case KIND.credit:
        this.#resume(stream, payload.readUInt32BE(0));
        return;
      case KIND.message:
        this.#onMessage(JSON.parse(payload.toString('utf8')));
    }
  }

  #resume(stream: number, credit: number): void {
    const sending = this.#sending.get(stream);
    if (sending === undefined) return;
    sending.credit += credit;
    const { resume } = sending;
    sending.resume = undefined;
    resume?.();
  }

  /** Readers get what was delivered and then the end; writers are not blocked. */
  #endAll(): void {
    for (const readable of this.#receiving.values()) readable.push(null);
    this.#receiving.clear();
    for (const { resume } of this.#sending.values()) resume?.();
    this.#sending.clear();
  }
}

const EMPTY = Buffer.alloc(0);

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
