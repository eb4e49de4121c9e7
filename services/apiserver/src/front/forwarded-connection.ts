import { Duplex } from 'node:stream';
import type { ChunkWindow } from './chunk-window.ts';
import type { PipelineMessage } from './messages.ts';
import type { Outbox } from './outbox.ts';

/**
 * A client connection of the front, for the code that took it over: bytes pass in both directions with back-pressure.
 */
export class ForwardedConnection extends Duplex {
  readonly #id: number;
  readonly #outbox: Outbox<PipelineMessage>;
  readonly #window: ChunkWindow;
  /** Received, but not wanted yet. */
  #kept = 0;

  constructor(id: number, outbox: Outbox<PipelineMessage>, window: ChunkWindow) {
    super();
    this.#id = id;
    this.#outbox = outbox;
    this.#window = window;
    this.on('error', () => this.destroy());
  }

  receive(bytes: Buffer): void {
    if (this.destroyed) return;
    if (this.push(bytes)) this.#take(bytes.length);
    else this.#kept += bytes.length;
  }

  receiveEnd(): void {
    if (!this.destroyed) this.push(null);
  }

  override _read(): void {
    const kept = this.#kept;
    this.#kept = 0;
    if (kept > 0) this.#take(kept);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#outbox.push({ kind: 'chunk', id: this.#id, also: [] }, chunk);
    this.#window.sent(chunk.length);
    this.#window.whenRoom(done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#outbox.push({ kind: 'finish', id: this.#id });
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#window.close();
    this.#outbox.push({ kind: 'cut', id: this.#id });
    done(error);
  }

  #take(bytes: number): void {
    this.#outbox.push({ kind: 'taken', id: this.#id, bytes });
  }
}
