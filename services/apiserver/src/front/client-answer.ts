import { Http2ServerResponse } from 'node:http2';
import type { Gzip } from 'node:zlib';
import type { Clock, Timer } from '@holdfast/platform/clock';
import { partsOf } from '../http/header-values.ts';
import { compressedHeaders, compressInto, isCompressed } from './compression.ts';
import { cutOff, type RawResponse } from './raw-response.ts';
import type { Asker, Question } from './remote-pipeline.ts';
import type { UnreadAnswers } from './unread-answers.ts';

type Headers = Readonly<Record<string, string>>;

export interface AnswerOptions {
  readonly headOnly: boolean;
  /** The client takes what is compressed; absent = it does not. */
  readonly gzip?: boolean;
  readonly auditId: string;
  /** A client that takes nothing for this long is cut off. */
  readonly stallMs: number;
  readonly clock: Clock;
  readonly unread: UnreadAnswers;
  /** Called once: the pipeline has sent its only or first message. */
  readonly onAnswer: () => void;
}

/** One response on its way to the client. */
export class ClientAnswer implements Asker {
  readonly #raw: RawResponse;
  /** The write target: the response, or its compressor. */
  #sink: RawResponse | Gzip;
  readonly #options: AnswerOptions;
  #question: Question | undefined;
  #isAnswered = false;
  #isBegun = false;
  #isClosed = false;
  /** While it is among the answers that have not left. */
  #unread: number | undefined;
  #isFollowed = false;
  /** Bytes written while the client was not reading: the callback follows when they are sent. */
  #waiting = 0;
  /** Pieces that were not returned yet. */
  #lent = 0;
  #stalled: Timer | undefined;

  constructor(raw: RawResponse, options: AnswerOptions) {
    this.#raw = raw;
    this.#sink = raw;
    this.#options = options;
    // Every response ends with a close; only a premature one matters to running work.
    raw.once('close', () => {
      this.#isClosed = true;
      this.#stalled?.cancel();
      if (this.#unread !== undefined) options.unread.left(this.#unread);
      if (!this.#isAnswered || this.#lent > 0) this.#question?.gone();
    });
  }

  asks(question: Question): void {
    this.#question = question;
  }

  answer(status: number, headers: Headers, body: Buffer): void {
    this.#isAnswered = true;
    this.#begun();
    const raw = this.#head(status, headers);
    if (body.length > 0 || !BODYLESS.has(status)) raw.setHeader('content-length', body.length);
    if (this.#options.headOnly || body.length === 0) raw.end();
    else raw.end(body);
    // A closed response is not tracked again.
    if (!this.#isClosed) this.#unread = this.#options.unread.add(raw);
  }

  /** The client of a quiet watch must learn that it is open before the first event. */
  begin(status: number, headers: Headers, isDocument = false): void {
    this.#begun();
    const { gzip = false, headOnly } = this.#options;
    const compresses = gzip && !headOnly && (isDocument || isCompressed(headers));
    const raw = this.#head(status, compresses ? compressedHeaders(headers) : headers);
    if (raw instanceof Http2ServerResponse) raw.writeHead(raw.statusCode);
    else raw.flushHeaders();
    if (compresses) this.#sink = compressInto(raw);
    this.#follow();
  }

  chunk(bytes: Uint8Array): void {
    this.#write(bytes, NOTHING_TO_DO);
  }

  piece(piece: Uint8Array<ArrayBuffer>): void {
    this.#lent += 1;
    this.#write(piece, (error) => {
      if (error !== undefined && error !== null) return;
      this.#lent -= 1;
      this.#question?.returned(piece);
    });
  }

  #write(bytes: Uint8Array, sent: (error?: Error | null) => void): void {
    const sink = this.#sink;
    if (this.#raw.destroyed) return;
    const isTaken = sink instanceof Http2ServerResponse ? sink.write(bytes, sent) : sink.write(bytes, sent);
    if (isTaken) this.#question?.taken(bytes.length);
    else {
      this.#waiting += bytes.length;
      this.#watchStall();
    }
  }

  end(): void {
    this.#isAnswered = true;
    this.#sink.end();
    if (!this.#raw.writableFinished) this.#watchStall();
  }

  finish(): void {
    this.end();
  }

  cut(): void {
    this.#isAnswered = true;
    this.#begun();
    cutOff(this.#raw);
  }

  /** The client has not asked for another protocol: nothing else would close the connection behind the answer. */
  upgrade(): void {
    this.#question?.gone();
    this.cut();
  }

  taken(): void {}

  #begun(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#options.onAnswer();
  }

  #head(status: number, headers: Headers): RawResponse {
    const raw = this.#raw;
    raw.statusCode = raw instanceof Http2ServerResponse && status > HTTP2_STATUS_MAX ? BAD_GATEWAY : status;
    raw.setHeader('audit-id', this.#options.auditId);
    raw.setHeader('cache-control', 'no-cache, private');
    for (const name in headers) raw.setHeader(name, partsOf(name, headers[name] ?? ''));
    return raw;
  }

  #follow(): void {
    this.#isFollowed = true;
    const moved = (): void => {
      this.#stalled?.cancel();
      this.#stalled = undefined;
      const left = this.#waiting;
      this.#waiting = 0;
      if (left > 0) this.#question?.taken(left);
    };
    this.#sink.on('drain', moved);
    this.#raw.once('finish', moved);
    if (this.#sink !== this.#raw) this.#raw.on('drain', () => this.#watchStallAgain());
  }

  /** The client takes something of what is compressed already. */
  #watchStallAgain(): void {
    if (this.#stalled === undefined) return;
    this.#stalled.cancel();
    this.#stalled = undefined;
    this.#watchStall();
  }

  /** The timeouts of Node's own sockets and streams start again with whatever else happens on the connection. */
  #watchStall(): void {
    // A closed response has nothing left to wait for: its timer would only keep the process alive.
    if (this.#isClosed) return;
    if (!this.#isFollowed) this.#follow();
    this.#stalled ??= this.#options.clock.timer(this.#options.stallMs, () => cutOff(this.#raw));
  }
}

const NOTHING_TO_DO = (): void => {};
/** Servers behind a proxy may send higher ones, which Node does not write over HTTP/2. */
const HTTP2_STATUS_MAX = 599;
const BAD_GATEWAY = 502;
const BODYLESS: ReadonlySet<number> = new Set([204, 304]);
