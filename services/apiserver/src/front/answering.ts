import { type ApiHandler, type ApiResponse, type ResponseBody, TransportError } from '@holdfast/client';
import { type Clock, describeError, InFlight, type Log } from '@holdfast/platform';
import { errorAnswer } from '../http/answers.ts';
import { PIECE_BYTES } from '../http/pieces.ts';
import { ANSWER_BYTES_IN_FLIGHT_MAX, REFUSAL_PAUSE_MS, REFUSALS_PAUSED_MAX } from '../limits.ts';
import type { AnswersUnderWay } from '../turns/answers-under-way.ts';
import { discard, type LongBody, longBody, shortBody } from './answer-bodies.ts';
import { AnswerShare } from './chunk-window.ts';
import { Exchange } from './exchange.ts';
import { ForwardedConnection } from './forwarded-connection.ts';
import type { FrontMessage, PipelineMessage, RequestMessage } from './messages.ts';
import type { Outbox } from './outbox.ts';
import { readRequest } from './read-request.ts';

export interface AnsweringDeps {
  readonly handle: ApiHandler;
  readonly outbox: Outbox<PipelineMessage>;
  readonly log: Log;
  readonly clock: Clock;
  readonly answers: AnswersUnderWay;
}

/** The side of the pipeline: takes requests from the front, and gives it the answers. */
export class Answering {
  readonly #deps: AnsweringDeps;
  readonly #open = new InFlight<Exchange>();
  readonly #share = new AnswerShare(ANSWER_BYTES_IN_FLIGHT_MAX);
  #isStopping = false;
  /** Refusals that wait before they leave. */
  #slowed = 0;

  constructor(deps: AnsweringDeps) {
    this.#deps = deps;
  }

  receive(message: FrontMessage, bytes: Buffer | undefined): void {
    switch (message.kind) {
      case 'request':
        return this.#begin(message, bytes);
      case 'gone':
        return this.#leave(message.id);
      case 'returned':
        return this.#returned(message.id, message.piece);
      case 'taken':
        return this.#open.get(message.id)?.window.taken(message.bytes);
      case 'data':
        return this.#open.get(message.id)?.connection?.receive(bytes ?? NOTHING);
      case 'ended':
        return this.#open.get(message.id)?.connection?.receiveEnd();
      case 'written':
        return this.#deps.answers.written(message.answers);
      case 'log':
      case 'listening':
      case 'not-listening':
      case 'stopped':
      case 'figures':
        return;
    }
  }

  /** Watches end, in order; what is short finishes. */
  stop(): void {
    this.#isStopping = true;
    for (const exchange of this.#open.values()) exchange.abort(STOPPING);
  }

  /** The client is gone. */
  abandon(): void {
    for (const exchange of this.#open.values()) exchange.leave();
    this.#open.clear();
    this.#deps.answers.end();
  }

  #leave(id: number): void {
    const exchange = this.#open.get(id);
    exchange?.leave();
    if (exchange?.isAnswered === true) this.#open.delete(id);
  }

  #returned(id: number, piece: Uint8Array<ArrayBuffer>): void {
    const exchange = this.#open.get(id);
    if (exchange === undefined) return;
    exchange.lent -= 1;
    exchange.release?.(Buffer.from(piece.buffer));
    if (exchange.isAnswered && exchange.lent === 0) this.#open.delete(id);
  }

  #begin(message: RequestMessage, body: Buffer | undefined): void {
    const exchange = new Exchange(this.#share);
    if (this.#isStopping) exchange.abort(STOPPING);
    this.#open.set(message.id, exchange);
    void this.#answer(message, body, exchange);
  }

  async #answer(message: RequestMessage, body: Buffer | undefined, exchange: Exchange): Promise<void> {
    const { log, outbox } = this.#deps;
    const { id } = message;
    try {
      const response = await this.#respond(message, body, exchange);
      if (response.status === TOO_MANY_REQUESTS) await this.#slowDown();
      await this.#send(message, response, exchange);
    } catch (error) {
      exchange.connection?.destroy();
      if (!exchange.isGone) log.warn('an answer could not be sent', { path: message.url, error: describeError(error) });
      outbox.push({ kind: 'cut', id });
    }
    exchange.isAnswered = true;
    exchange.window.done();
    if (exchange.isGone || exchange.lent === 0) this.#open.delete(id);
  }

  async #respond(message: RequestMessage, body: Buffer | undefined, exchange: Exchange): Promise<ApiResponse> {
    const { handle, log } = this.#deps;
    try {
      return await handle(readRequest(message, body, exchange));
    } catch (error) {
      // There is no answer: the client sees a connection that was cut.
      if (error instanceof TransportError) throw error;
      return errorAnswer(error, log);
    }
  }

  #send(message: RequestMessage, response: ApiResponse, exchange: Exchange): Promise<void> | void {
    const { id, method } = message;
    const { status, headers, body, upgrade } = response;
    const { outbox } = this.#deps;
    if (upgrade !== undefined) return this.#upgrade(id, response, exchange);
    if (exchange.isGone) return this.#drop(id, body);
    const long = longBody(body, method);
    if (long === undefined) {
      this.#deps.answers.sent();
      return outbox.push({ kind: 'answer', id, status, headers }, shortBody(body));
    }
    const { isDocument = false } = long;
    outbox.push({ kind: 'begin', id, status, headers: { ...headers, ...long.headers }, isDocument });
    const sent = this.#sendChunks(id, long, exchange);
    return method === 'HEAD' ? sent.then(() => discard(body)) : sent;
  }

  async #sendChunks(id: number, { chunks, release }: LongBody, exchange: Exchange): Promise<void> {
    const { outbox } = this.#deps;
    const { window } = exchange;
    exchange.release = release;
    for await (const each of chunks) {
      if (window.isClosed) break;
      const chunk = each instanceof Uint8Array ? each : each.bytes();
      const { length } = chunk;
      if (release !== undefined && length === PIECE_BYTES && chunk.buffer instanceof ArrayBuffer) {
        exchange.lent += 1;
        outbox.move({ kind: 'piece', id, piece: new Uint8Array(chunk.buffer) }, chunk.buffer);
        // Long enough to be sent immediately.
        outbox.flush();
      } else this.#chunk(id, chunk);
      if (!window.sent(length)) await window.room();
    }
    outbox.push(window.isClosed ? { kind: 'cut', id } : { kind: 'end', id });
  }

  /** Equal chunks for many recipients cross to the other thread together. */
  #chunk(id: number, bytes: Uint8Array): void {
    const { outbox } = this.#deps;
    const last = outbox.lastWith(bytes);
    if (last?.kind !== 'chunk') return outbox.push({ kind: 'chunk', id, also: [] }, bytes);
    last.also.push(id);
    if (last.also.length >= RECIPIENTS_AT_ONCE) outbox.flush();
  }

  async #upgrade(id: number, response: ApiResponse, exchange: Exchange): Promise<void> {
    const { outbox } = this.#deps;
    const { status, headers, upgrade } = response;
    const connection = new ForwardedConnection(id, outbox, exchange.window);
    exchange.connection = connection;
    const closed = new Promise<void>((resolve) => connection.once('close', resolve));
    if (!exchange.isGone) outbox.push({ kind: 'upgrade', id, status, headers });
    upgrade?.(connection, NOTHING);
    // The intended recipient closes its own connection.
    if (exchange.isGone) connection.destroy();
    await closed;
  }

  /** Delays a refusal: a client that repeats immediately would occupy the HTTP thread. */
  async #slowDown(): Promise<void> {
    if (this.#slowed >= REFUSALS_PAUSED_MAX) return;
    this.#slowed += 1;
    await this.#deps.clock.sleep(REFUSAL_PAUSE_MS);
    this.#slowed -= 1;
  }

  #drop(id: number, body: ResponseBody): Promise<void> {
    this.#deps.outbox.push({ kind: 'cut', id });
    return discard(body);
  }
}

/** The front begins to write while this side continues. */
const RECIPIENTS_AT_ONCE = 32;

const TOO_MANY_REQUESTS = 429;
const STOPPING = new Error('the server stops');
const NOTHING = Buffer.alloc(0);
