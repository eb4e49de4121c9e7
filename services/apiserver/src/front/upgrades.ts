import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { badRequest, StatusError } from '@holdfast/machinery/status';
import type { Clock } from '@holdfast/platform/clock';
import { describeError } from '@holdfast/platform/errors';
import { nodeHttp } from '@holdfast/platform/http';
import { partsOf } from '../http/header-values.ts';
import { UPGRADED_IDLE_MS } from '../limits.ts';
import type { ClientAnswer } from './client-answer.ts';
import { closeAfterReading } from './lingering-close.ts';
import type { BodyReceiver } from './receive-body.ts';
import type { Asker, Question } from './remote-pipeline.ts';
import { refusalOfHeaders } from './sent-headers.ts';
import { answerStatus } from './status-answer.ts';
import { bodyOfUpgrade } from './upgrade-body.ts';

export interface UpgradeDeps {
  readonly ask: (request: IncomingMessage, body: Buffer | undefined, asker: Asker) => Question;
  readonly bodies: BodyReceiver;
  readonly clock: Clock;
  /** For a response without upgrade: an error, or an unneeded upgrade request. */
  readonly answer: (raw: ServerResponse) => ClientAnswer;
}

/**
 * Requests that ask for another protocol on their connection. They take the same way through the pipeline as all others; an
 * answer that agrees is given the connection, any other is written as usual, and the connection ends behind it.
 */
export function serveUpgrades(server: Http2SecureServer, deps: UpgradeDeps): { stop(): void } {
  const open = new Set<Socket>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!(socket instanceof Socket)) return void socket.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const upgrade = new Upgrade(deps, request, socket);
    if (head.length > 0) socket.unshift(head);
    void upgrade.begins();
  });
  return {
    stop: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

/** Bytes that a client may send before the receiver has consumed some. */
const WINDOW_BYTES = 128 * 1024;

class Upgrade implements Asker {
  readonly #deps: UpgradeDeps;
  readonly #request: IncomingMessage;
  readonly #socket: Socket;
  #question: Question | undefined;
  #refusal: ClientAnswer | undefined;
  #body: Buffer | undefined;
  #onTheWay = 0;
  #waiting = 0;

  constructor(deps: UpgradeDeps, request: IncomingMessage, socket: Socket) {
    this.#deps = deps;
    this.#request = request;
    this.#socket = socket;
    // 'close' follows.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#question?.gone());
  }

  /** Never rejects. */
  async begins(): Promise<void> {
    const { ask, bodies, clock } = this.#deps;
    const request = this.#request;
    try {
      const refusal = refusalOfHeaders(request);
      if (refusal !== undefined) throw refusal;
      const body = bodyOfUpgrade(request, this.#socket);
      if (body !== undefined) this.#body = await bodies.receive(body, request.headers['content-length']);
    } catch (error) {
      if (!this.#socket.writable) return void this.#socket.destroy();
      closeAfterReading(this.#socket, clock);
      return answerStatus(this, error instanceof StatusError ? error : badRequest(describeError(error)));
    }
    if (this.#socket.destroyed) this.#release();
    else this.#question = ask(request, this.#body, this);
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body: Buffer): void {
    this.#refuse().answer(status, headers, body);
  }

  begin(status: number, headers: Readonly<Record<string, string>>, isDocument: boolean): void {
    const refusal = this.#refuse();
    if (this.#question !== undefined) refusal.asks(this.#question);
    refusal.begin(status, headers, isDocument);
  }

  upgrade(status: number, headers: Readonly<Record<string, string>>): void {
    this.#release();
    const socket = this.#socket;
    socket.setNoDelay(true);
    socket.setTimeout(UPGRADED_IDLE_MS, () => socket.destroy());
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      [partsOf(name, value)].flat().map((part) => `${name}: ${part}\r\n`),
    );
    socket.write(`HTTP/1.1 ${status} ${nodeHttp().STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`);
    socket.on('data', (bytes: Buffer) => this.#send(bytes));
    socket.once('end', () => this.#question?.ended());
    socket.on('drain', () => {
      this.#question?.taken(this.#waiting);
      this.#waiting = 0;
    });
    // It is at rest behind a body.
    socket.resume();
  }

  chunk(bytes: Buffer): void {
    if (this.#refusal !== undefined) return this.#refusal.chunk(bytes);
    if (this.#socket.write(bytes)) this.#question?.taken(bytes.length);
    else this.#waiting += bytes.length;
  }

  piece(piece: Uint8Array<ArrayBuffer>): void {
    this.#refusal?.piece(piece);
  }

  end(): void {
    this.#refusal?.end();
  }

  finish(): void {
    this.#socket.end();
  }

  /** Earlier data still arrive. */
  cut(): void {
    this.#release();
    this.#socket.destroySoon();
  }

  taken(bytes: number): void {
    this.#onTheWay -= bytes;
    if (this.#onTheWay < WINDOW_BYTES) this.#socket.resume();
  }

  #send(bytes: Buffer): void {
    this.#question?.data(bytes);
    this.#onTheWay += bytes.length;
    if (this.#onTheWay >= WINDOW_BYTES) this.#socket.pause();
  }

  #release(): void {
    if (this.#body !== undefined) this.#deps.bodies.release(this.#body);
    this.#body = undefined;
  }

  #refuse(): ClientAnswer {
    this.#release();
    const { ServerResponse: Answer } = nodeHttp();
    const raw = new Answer(this.#request);
    raw.setHeader('connection', 'close');
    // A client that keeps its half open has no use of it.
    raw.once('finish', () => this.#socket.destroySoon());
    raw.assignSocket(this.#socket);
    this.#refusal = this.#deps.answer(raw);
    return this.#refusal;
  }
}
