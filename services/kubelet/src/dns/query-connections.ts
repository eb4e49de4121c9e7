import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@holdfast/platform';
import { FairPlaces } from '../pod-network/agent/fair-places.ts';
import {
  DNS_ANSWER_BACKLOG_MAX_BYTES,
  DNS_CONNECTION_IDLE_MS,
  DNS_CONNECTIONS_MAX,
  DNS_CONNECTIONS_PER_SOURCE_MAX,
  DNS_PIPELINE_MAX,
} from './limits.ts';
import { FrameReader, framed } from './tcp-frames.ts';

export interface QueryConnectionsDeps {
  readonly clock: Clock;
  /** `undefined`: that was no question. */
  readonly answer: (query: Buffer, source: string) => Promise<Buffer | undefined>;
}

/** DNS over TCP. The number of connections is bounded, for each client address and for all of them. */
export class QueryConnections {
  readonly #deps: QueryConnectionsDeps;
  readonly #places = new FairPlaces({ perHolder: DNS_CONNECTIONS_PER_SOURCE_MAX, all: DNS_CONNECTIONS_MAX });
  readonly #open = new Set<Duplex>();

  constructor(deps: QueryConnectionsDeps) {
    this.#deps = deps;
  }

  /** Closes the connection when there are too many. */
  serve(socket: Duplex, source: string): void {
    const release = this.#places.take(source, () => socket.destroy());
    if (release === undefined) {
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    this.#open.add(socket);
    socket.once('close', () => {
      release();
      this.#open.delete(socket);
    });
    const { clock, answer } = this.#deps;
    new QueryConnection({ clock, answer: (query) => answer(query, source) }, socket).begin();
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

interface QueryConnectionDeps extends Pick<QueryConnectionsDeps, 'clock'> {
  readonly answer: (query: Buffer) => Promise<Buffer | undefined>;
}

class QueryConnection {
  readonly #deps: QueryConnectionDeps;
  readonly #socket: Duplex;
  readonly #waiting: Buffer[] = [];
  #answering = 0;
  #hasEnded = false;
  #idle: Timer | undefined;

  constructor(deps: QueryConnectionDeps, socket: Duplex) {
    this.#deps = deps;
    this.#socket = socket;
  }

  begin(): void {
    const socket = this.#socket;
    const reader = new FrameReader();
    this.#restartIdle();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#idle?.cancel());
    socket.on('drain', () => this.#proceed());
    socket.on('end', () => {
      this.#hasEnded = true;
      this.#proceed();
    });
    socket.on('data', (chunk: Buffer) => {
      const queries = reader.push(chunk);
      // A part of a query is no sign of life: otherwise one byte now and then keeps the connection.
      if (queries.length > 0) this.#restartIdle();
      this.#waiting.push(...queries);
      this.#proceed();
    });
  }

  /** Answers what waits, as far as the bounds allow, and reads on when nothing waits. */
  #proceed(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) void this.#answer(this.#waiting.shift() ?? Buffer.alloc(0));
    if (this.#waiting.length > 0 || !this.#hasRoom()) this.#socket.pause();
    else this.#socket.resume();
    if (this.#hasEnded && this.#waiting.length === 0 && this.#answering === 0) this.#socket.end();
  }

  #hasRoom(): boolean {
    return this.#answering < DNS_PIPELINE_MAX && this.#socket.writableLength <= DNS_ANSWER_BACKLOG_MAX_BYTES;
  }

  async #answer(query: Buffer): Promise<void> {
    this.#answering += 1;
    const answer = await this.#framedAnswer(query).catch(() => undefined);
    this.#answering -= 1;
    if (this.#socket.destroyed) return;
    if (answer === undefined) return void this.#socket.destroy();
    this.#socket.write(answer);
    this.#restartIdle();
    this.#proceed();
  }

  async #framedAnswer(query: Buffer): Promise<Buffer | undefined> {
    const answer = await this.#deps.answer(query);
    return answer === undefined ? undefined : framed(answer);
  }

  #restartIdle(): void {
    this.#idle?.cancel();
    if (this.#socket.destroyed) return;
    this.#idle = this.#deps.clock.timer(DNS_CONNECTION_IDLE_MS, () => this.#socket.destroy());
  }
}
