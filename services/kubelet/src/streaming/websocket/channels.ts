import type { Duplex } from 'node:stream';
import { Readable, Writable } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { acceptWebSocket, CLOSE_CODE, type WebSocketConnection } from '@holdfast/platform/websocket';
import { CHANNEL_MESSAGE_MAX_BYTES, STREAM_BUFFER_BYTES, STREAM_CHUNK_BYTES } from '../limits.ts';

/** The encoding of channels in messages: a leading byte, or a leading digit before base64 text. */
export type ChannelEncoding = 'binary' | 'base64';

/** `v5.channel.k8s.io`: the message `[255, n]` ends channel n. */
const CLOSE_CHANNEL = 255;

export interface Channels {
  /** Client data of this channel. A slow reader blocks the whole connection. */
  input(channel: number): Readable;
  /** Whole messages of this channel; longer ones than any of its kind end the connection. */
  onMessage(channel: number, listener: (text: string) => void): void;
  output(channel: number): Writable;
  close(): void;
  readonly closed: Promise<void>;
}

interface Options {
  readonly clock: Clock;
  readonly encoding: ChannelEncoding;
}

/** Numbered channels over one WebSocket, as `channel.k8s.io` and its relatives have them. */
export function acceptChannels(socket: Duplex, head: Uint8Array, options: Options): Channels {
  return new ChannelConnection(socket, head, options);
}

class ChannelConnection implements Channels {
  readonly closed: Promise<void>;
  readonly #connection: WebSocketConnection;
  readonly #encoding: ChannelEncoding;
  readonly #inputs = new Map<number, Readable>();
  readonly #listeners = new Map<number, (text: string) => void>();
  readonly #full = new Set<number>();
  #channel = 0;
  /** Buffered parts of a message that is needed whole, or base64 that is not a multiple of four yet. */
  #kept = '';

  constructor(socket: Duplex, head: Uint8Array, { clock, encoding }: Options) {
    this.#encoding = encoding;
    this.#connection = acceptWebSocket(socket, head, {
      clock,
      onData: (piece, { first, last }) => this.#receive(piece, first, last),
    });
    this.closed = this.#connection.closed;
    void this.closed.then(() => {
      for (const input of this.#inputs.values()) input.push(null);
      this.#inputs.clear();
    });
  }

  input(channel: number): Readable {
    const input = new Readable({ highWaterMark: STREAM_BUFFER_BYTES, read: () => this.#taken(channel) });
    this.#inputs.set(channel, input);
    return input;
  }

  onMessage(channel: number, listener: (text: string) => void): void {
    this.#listeners.set(channel, listener);
  }

  output(channel: number): Writable {
    const send = (chunk: Buffer, done: () => void): void => {
      const piece = chunk.subarray(0, STREAM_CHUNK_BYTES);
      const rest = chunk.subarray(STREAM_CHUNK_BYTES);
      this.#send(channel, piece, rest.length === 0 ? done : () => send(rest, done));
    };
    return new Writable({ write: (chunk: Buffer, _encoding, done) => send(chunk, () => done()) });
  }

  close(): void {
    this.#connection.close(CLOSE_CODE.normal);
  }

  #send(channel: number, payload: Buffer, done: () => void): void {
    if (this.#encoding === 'base64') {
      this.#connection.send(Buffer.from(`${channel}${payload.toString('base64')}`), done, 'text');
    } else this.#connection.send(Buffer.concat([Buffer.from([channel]), payload]), done);
  }

  #receive(piece: Buffer, first: boolean, last: boolean): void {
    let rest = piece;
    if (first) {
      const [tag] = piece;
      if (tag === undefined) return;
      this.#channel = this.#encoding === 'base64' ? tag - DIGIT_ZERO : tag;
      this.#kept = '';
      rest = piece.subarray(1);
    }
    if (this.#channel === CLOSE_CHANNEL) this.#end(rest[0]);
    else if (this.#listeners.has(this.#channel)) this.#keep(rest, last);
    else this.#deliver(rest, last);
  }

  #keep(piece: Buffer, last: boolean): void {
    this.#kept += piece.toString('latin1');
    if (this.#kept.length > CHANNEL_MESSAGE_MAX_BYTES) return this.#connection.close(CLOSE_CODE.tooBig);
    if (!last) return;
    const text = this.#encoding === 'base64' ? Buffer.from(this.#kept, 'base64') : Buffer.from(this.#kept, 'latin1');
    this.#listeners.get(this.#channel)?.(text.toString('utf8'));
  }

  #deliver(piece: Buffer, last: boolean): void {
    const bytes = this.#encoding === 'base64' ? this.#decode(piece, last) : piece;
    const input = this.#inputs.get(this.#channel);
    if (input === undefined || bytes.length === 0 || input.push(bytes)) return;
    this.#full.add(this.#channel);
    this.#connection.pause();
  }

  #decode(piece: Buffer, last: boolean): Buffer {
    const text = this.#kept + piece.toString('latin1');
    const whole = last ? text.length : text.length - (text.length % 4);
    this.#kept = text.slice(whole);
    return Buffer.from(text.slice(0, whole), 'base64');
  }

  #end(channel: number | undefined): void {
    if (channel === undefined) return;
    this.#inputs.get(channel)?.push(null);
    this.#inputs.delete(channel);
  }

  #taken(channel: number): void {
    if (this.#full.delete(channel) && this.#full.size === 0) this.#connection.resume();
  }
}

const DIGIT_ZERO = 0x30;
