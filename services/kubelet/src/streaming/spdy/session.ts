import { Duplex } from 'node:stream';
import type { Clock, Timer } from '@holdfast/platform';
import {
  SPDY_INITIAL_WINDOW_BYTES,
  SPDY_STREAMS_MAX,
  STREAM_BUFFER_BYTES,
  STREAM_CHUNK_BYTES,
  STREAM_CLOSE_MS,
  STREAM_CONTROL_PENDING_MAX_BYTES,
  STREAM_PING_MS,
} from '../limits.ts';
import { controlFrame, dataFrame, FLAG_FIN, FRAME, RST_STATUS, type SpdyFrame, SpdyFrameReader } from './frames.ts';
import {
  createHeaderReader,
  createHeaderWriter,
  type HeaderReader,
  type SpdyHeaders,
  SpdyProtocolError,
} from './header-block.ts';

/** One stream of a session: a duplex whose halves end independently. */
export interface SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
}

export interface SpdySession {
  /** Both roles may; odd numbers are the client's. */
  openStream(headers: SpdyHeaders): SpdyStream;
  /** Ends when everything that was written has left. */
  close(): void;
  /** Settles when the connection is gone. */
  readonly closed: Promise<void>;
}

export interface SpdyOptions {
  readonly role: 'client' | 'server';
  readonly clock: Clock;
  /** Bytes that were already read from the connection. */
  readonly head?: Uint8Array;
  readonly onStream: (stream: SpdyStream) => void;
  /** Default: inflates the blocks of this connection. */
  readonly headers?: HeaderReader;
}

/**
 * SPDY/3.1 over a connection. Clients of Kubernetes keep no windows: they send without end and never tell that they took
 * something. So a stream whose reader is slow makes the whole connection wait, and windows count only for peers that use them.
 */
export function createSpdySession(socket: Duplex, options: SpdyOptions): SpdySession {
  return new Session(socket, options);
}

class Session implements SpdySession {
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: SpdyOptions;
  readonly #writeHeaders = createHeaderWriter();
  readonly #headers: HeaderReader;
  readonly #streams = new Map<number, Stream>();
  #nextId: number;
  #life: Timer;
  #closing: Timer | undefined;
  #pings = 0;
  /** Bytes of control frames that wait for a peer that does not read. */
  #controlPending = 0;
  /** `undefined` until the peer shows that it keeps windows. */
  #window: number | undefined;

  constructor(socket: Duplex, options: SpdyOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#headers = options.headers ?? createHeaderReader();
    this.#nextId = options.role === 'client' ? 1 : 2;
    const gone = Promise.withResolvers<void>();
    this.closed = gone.promise;
    // 'close' follows.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#life.cancel();
      this.#closing?.cancel();
      this.#headers.close();
      for (const stream of this.#streams.values()) stream.cut('connection');
      this.#streams.clear();
      gone.resolve();
    });
    this.#life = this.#pingLater();
    if (options.head !== undefined && options.head.length > 0) socket.unshift(options.head);
    this.#read();
  }

  openStream(headers: SpdyHeaders): SpdyStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, headers);
    this.control(
      FRAME.synStream,
      0,
      Buffer.concat([uint32(id), uint32(0), Buffer.alloc(2), this.#writeHeaders(headers)]),
    );
    return stream;
  }

  close(): void {
    this.control(FRAME.goAway, 0, Buffer.alloc(8));
    this.#socket.end(() => this.#destroyLater());
  }

  control(type: number, flags: number, payload: Buffer): void {
    if (!this.#socket.writable) return;
    const frame = controlFrame(type, flags, payload);
    this.#controlPending += frame.length;
    this.#socket.write(frame, () => {
      this.#controlPending -= frame.length;
    });
    if (this.#controlPending > STREAM_CONTROL_PENDING_MAX_BYTES) this.#socket.destroy();
  }

  /** Calls back when the bytes have left, or never will. */
  data(stream: number, flags: number, payload: Uint8Array, done: () => void): void {
    if (this.#socket.writable) this.#socket.write(dataFrame(stream, flags, payload), () => done());
    else done();
  }

  /** A server that is done resets its streams: what it sent before is still to be read. */
  get readsOn(): boolean {
    return this.#options.role === 'client';
  }

  forget(id: number): void {
    this.#streams.delete(id);
  }

  #pingLater(): Timer {
    return this.#options.clock.timer(STREAM_PING_MS, () => {
      this.#pings += 1;
      this.control(FRAME.ping, 0, uint32(this.#pings * 2 - (this.#options.role === 'client' ? 1 : 0)));
      this.#life = this.#pingLater();
    });
  }

  /**
   * Handles one piece after the other; the next waits in the connection until streams have accepted their data. A
   * paused socket still emits `end`, so the end of the connection waits for the previous piece.
   */
  #read(): void {
    const reader = new SpdyFrameReader();
    const socket = this.#socket;
    let taking: Promise<void> = Promise.resolve();
    socket.on('data', (chunk: Buffer) => {
      socket.pause();
      taking = this.#takeAll(reader, chunk).then(
        () => void socket.resume(),
        // Not SPDY: no error can be sent.
        () => void socket.destroy(),
      );
    });
    socket.once('end', () => {
      // A client that has gone must not wait for a process that does not read.
      if (!this.readsOn) this.#destroyLater();
      void taking.then(() => socket.destroy());
    });
  }

  #destroyLater(): void {
    if (!this.#socket.destroyed)
      this.#closing ??= this.#options.clock.timer(STREAM_CLOSE_MS, () => this.#socket.destroy());
  }

  async #takeAll(reader: SpdyFrameReader, chunk: Buffer): Promise<void> {
    for (const frame of reader.push(chunk)) await this.#take(frame);
  }

  async #take(frame: SpdyFrame): Promise<void> {
    if (frame.kind === 'control') return this.#control(frame);
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined) {
      if (frame.piece.length > 0) this.#reset(frame.stream, RST_STATUS.cancel);
      return undefined;
    }
    return stream.deliver(frame.piece, frame.fin);
  }

  async #control({ type, flags, payload }: Extract<SpdyFrame, { kind: 'control' }>): Promise<void> {
    switch (type) {
      case FRAME.synStream:
        return this.#opened(payload, flags);
      case FRAME.synReply:
      case FRAME.headers:
        // The headers are unused here, but the decompressor must see every block.
        await this.#headers.read(payload.subarray(4));
        if ((flags & FLAG_FIN) !== 0) await this.#streams.get(idOf(payload))?.deliver(EMPTY, true);
        return;
      case FRAME.rstStream:
        this.#streams.get(idOf(payload))?.cut('reset');
        return;
      case FRAME.ping:
        this.#pong(payload);
        return;
      case FRAME.settings:
        this.#settings(payload);
        return;
      case FRAME.windowUpdate:
        this.#windowUpdate(idOf(payload), payload.readUInt32BE(4) & 0x7fff_ffff);
        return;
      case FRAME.goAway:
        // No more streams from there; those that are open end by themselves.
        return;
    }
  }

  async #opened(payload: Buffer, flags: number): Promise<void> {
    const id = idOf(payload);
    const headers = await this.#headers.read(payload.subarray(10));
    // Nobody would end a stream that begins after its connection, nor cancel the timers of its owner.
    if (this.#socket.destroyed) return undefined;
    const fromClient = id % 2 === 1;
    if (fromClient !== (this.#options.role === 'server') || this.#streams.has(id)) {
      throw new SpdyProtocolError(`stream ${id} may not be opened`);
    }
    if (this.#streams.size >= SPDY_STREAMS_MAX) return this.#reset(id, RST_STATUS.refusedStream);
    const stream = this.#add(id, headers);
    this.control(FRAME.synReply, 0, Buffer.concat([uint32(id), this.#writeHeaders({})]));
    this.#options.onStream(stream);
    if ((flags & FLAG_FIN) !== 0) await stream.deliver(EMPTY, true);
  }

  #add(id: number, headers: SpdyHeaders): Stream {
    const stream = new Stream(this, id, headers, this.#window);
    this.#streams.set(id, stream);
    return stream;
  }

  #reset(id: number, status: number): void {
    this.control(FRAME.rstStream, 0, Buffer.concat([uint32(id), uint32(status)]));
  }

  /** Our own come back with the number that we gave. */
  #pong(payload: Buffer): void {
    const ours = (idOf(payload) % 2 === 1) === (this.#options.role === 'client');
    if (!ours) this.control(FRAME.ping, 0, payload);
  }

  /** The last value counts: one frame may repeat a setting thousands of times, and each change touches every stream. */
  #settings(payload: Buffer): void {
    let window: number | undefined;
    for (let at = 4; at + 8 <= payload.length; at += 8) {
      if ((payload.readUInt32BE(at) & 0xff_ffff) === INITIAL_WINDOW_SETTING) window = payload.readUInt32BE(at + 4);
    }
    if (window !== undefined && window !== this.#window) this.#keepWindows(window);
  }

  #windowUpdate(id: number, delta: number): void {
    if (this.#window === undefined) this.#keepWindows(SPDY_INITIAL_WINDOW_BYTES);
    this.#streams.get(id)?.widen(delta);
  }

  #keepWindows(window: number): void {
    const before = this.#window;
    this.#window = window;
    for (const stream of this.#streams.values()) stream.limit(window, before);
  }
}

const INITIAL_WINDOW_SETTING = 7;
const EMPTY = Buffer.alloc(0);

class Stream extends Duplex implements SpdyStream {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #session: Session;
  /** The remaining send window; `undefined` when the peer uses none. */
  #room: number | undefined;
  #sent = 0;
  #resume: (() => void) | undefined;
  #taken: (() => void) | undefined;
  #unread = 0;
  #received = false;
  #cut = false;

  constructor(session: Session, id: number, headers: SpdyHeaders, window: number | undefined) {
    super({
      readableHighWaterMark: STREAM_BUFFER_BYTES,
      writableHighWaterMark: STREAM_CHUNK_BYTES,
      allowHalfOpen: true,
    });
    this.#session = session;
    this.id = id;
    this.headers = headers;
    this.#room = window;
    // Without a listener a connection error would end this process.
    this.on('error', () => undefined);
  }

  /** Resolves when more can be taken. */
  async deliver(piece: Buffer, fin: boolean): Promise<void> {
    if (this.#received || this.destroyed) return;
    this.#unread += piece.length;
    const wantsMore = piece.length === 0 || this.push(piece);
    if (fin) {
      this.#received = true;
      this.push(null);
    } else if (!wantsMore) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#taken = resolve;
      await promise;
    }
  }

  limit(window: number, before: number | undefined): void {
    this.#room = before === undefined || this.#room === undefined ? window - this.#sent : this.#room + window - before;
    this.#goOn();
  }

  widen(delta: number): void {
    if (this.#room !== undefined) this.#room += delta;
    this.#goOn();
  }

  /** Reset by the peer, or the connection is gone. What a client sent whole before its connection ended is still to be read. */
  cut(by: 'reset' | 'connection'): void {
    this.#cut = true;
    const readsOn = this.#session.readsOn || (by === 'connection' && this.#received);
    if (!readsOn || this.destroyed || this.readableEnded) {
      this.destroy();
      return;
    }
    this.once('end', () => this.destroy());
    this.#goOn();
    if (this.#received) return;
    this.#received = true;
    this.push(null);
  }

  override _read(): void {
    this.#taken?.();
    this.#taken = undefined;
    // A frame to a server that is closing would cut off its data in flight.
    if (this.#unread === 0 || this.#session.readsOn) return;
    this.#session.control(FRAME.windowUpdate, 0, Buffer.concat([uint32(this.id), uint32(this.#unread)]));
    this.#unread = 0;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (chunk.length === 0 || this.#cut) return done();
    const room = Math.min(this.#room ?? STREAM_CHUNK_BYTES, STREAM_CHUNK_BYTES);
    if (room <= 0) {
      this.#resume = () => this._write(chunk, _encoding, done);
      return undefined;
    }
    const piece = chunk.subarray(0, room);
    this.#sent += piece.length;
    if (this.#room !== undefined) this.#room -= piece.length;
    this.#session.data(this.id, 0, piece, () => this._write(chunk.subarray(piece.length), _encoding, done));
    return undefined;
  }

  override _final(done: () => void): void {
    this.#session.data(this.id, FLAG_FIN, EMPTY, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#session.forget(this.id);
    const isComplete = this.#received && this.writableFinished;
    if (!this.#cut && !isComplete) {
      this.#session.control(FRAME.rstStream, 0, Buffer.concat([uint32(this.id), uint32(RST_STATUS.cancel)]));
    }
    this.#taken?.();
    this.#goOn();
    done(error);
  }

  #goOn(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }
}

const idOf = (payload: Buffer): number => payload.readUInt32BE(0) & 0x7fff_ffff;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
