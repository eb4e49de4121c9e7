import { isUtf8 } from 'node:buffer';
import { describeError } from '@holdfast/platform/errors';
import { InFlight } from '@holdfast/platform/in-flight';
import type { Log } from '@holdfast/platform/log';
import { RECEIPT_BYTES } from './chunk-window.ts';
import type { FrontMessage, PipelineMessage, RequestMessage } from './messages.ts';
import type { Outbox } from './outbox.ts';

/** Receives the response: `answer`, or `begin` with chunks and an `end`, or `upgrade`; `cut` ends any of them. */
export interface Asker {
  answer(status: number, headers: Headers, body: Buffer): void;
  begin(status: number, headers: Headers, isDocument: boolean): void;
  upgrade(status: number, headers: Headers): void;
  chunk(bytes: Buffer): void;
  /** Return it after it was sent. */
  piece(piece: Uint8Array<ArrayBuffer>): void;
  end(): void;
  finish(): void;
  cut(): void;
  /** The number of consumed bytes from an upgraded connection. */
  taken(bytes: number): void;
}

type Answered = Extract<PipelineMessage, { readonly id: number }>;
type Headers = Readonly<Record<string, string>>;

/** The messages of an asker during its response. */
export interface Question {
  gone(): void;
  taken(bytes: number): void;
  returned(piece: Uint8Array<ArrayBuffer>): void;
  data(bytes: Uint8Array): void;
  ended(): void;
}

export type Asked = Pick<RequestMessage, 'method' | 'url' | 'headers' | 'remoteAddress' | 'clientCertificate'> & {
  readonly body: Buffer | undefined;
};

/** The first receipt is sent for between half of it and all, in so many steps. */
const RECEIPT_SPREAD = 64;

/** The front's side: passes requests to the pipeline, and responses to the asker. */
export class RemotePipeline {
  readonly #outbox: Outbox<FrontMessage>;
  readonly #log: Log;
  readonly #askers = new InFlight<Asker>();
  /** Whole answers of the batch that is being received. */
  #written = 0;

  constructor(outbox: Outbox<FrontMessage>, log: Log) {
    this.#outbox = outbox;
    this.#log = log;
  }

  ask(asked: Asked, asker: Asker): Question {
    const id = this.#askers.add(asker);
    const { method, url, headers, remoteAddress, clientCertificate, body } = asked;
    const text = body !== undefined && isText(body, headers) ? body.toString() : undefined;
    const message: RequestMessage = {
      kind: 'request',
      id,
      method,
      url,
      headers,
      text,
      remoteAddress,
      clientCertificate,
    };
    this.#outbox.push(message, text === undefined ? body : undefined);
    return this.#question(id);
  }

  /** A batch was processed. */
  received(): void {
    if (this.#written === 0) return;
    this.#outbox.push({ kind: 'written', answers: this.#written });
    this.#written = 0;
  }

  receive(message: PipelineMessage, bytes: Buffer | undefined): void {
    if (!('id' in message)) return;
    if (message.kind === 'answer') this.#written += 1;
    this.#receiveFor(message.id, message, bytes);
    if (message.kind === 'chunk') for (const id of message.also) this.#receiveFor(id, message, bytes);
  }

  #receiveFor(id: number, message: Answered, bytes: Buffer | undefined): void {
    const asker = this.#askers.get(id);
    if (asker === undefined) return;
    try {
      this.#tell(asker, message, bytes);
    } catch (error) {
      // Node refuses such a status or header. It concerns only this response.
      this.#log.warn('an answer could not be written', { error: describeError(error) });
      this.#askers.delete(id);
      this.#outbox.push({ kind: 'gone', id });
      asker.cut();
    }
  }

  #tell(asker: Asker, message: Answered, bytes: Buffer | undefined): void {
    switch (message.kind) {
      case 'chunk':
        return asker.chunk(bytes ?? NOTHING);
      case 'piece':
        return asker.piece(message.piece);
      case 'taken':
        return asker.taken(message.bytes);
      case 'begin':
        return asker.begin(message.status, message.headers, message.isDocument);
      case 'upgrade':
        return asker.upgrade(message.status, message.headers);
      case 'finish':
        return asker.finish();
      case 'answer':
        this.#askers.delete(message.id);
        return asker.answer(message.status, message.headers, bytes ?? NOTHING);
      case 'end':
        this.#askers.delete(message.id);
        return asker.end();
      case 'cut':
        this.#askers.delete(message.id);
        return asker.cut();
    }
  }

  #question(id: number): Question {
    const outbox = this.#outbox;
    let owed = 0;
    // Watchers of the same changes would all send theirs at the same time.
    let due = RECEIPT_BYTES * (1 - (id % RECEIPT_SPREAD) / (2 * RECEIPT_SPREAD));
    return {
      gone: () => outbox.push({ kind: 'gone', id }),
      taken: (bytes) => {
        owed += bytes;
        if (owed < due) return;
        outbox.push({ kind: 'taken', id, bytes: owed });
        owed = 0;
        due = RECEIPT_BYTES;
      },
      returned: (piece) => outbox.move({ kind: 'returned', id, piece }, piece.buffer),
      data: (bytes) => outbox.push({ kind: 'data', id }, bytes),
      ended: () => outbox.push({ kind: 'ended', id }),
    };
  }
}

const NOTHING = Buffer.alloc(0);

/** Text crosses the border cheaper than bytes do, and the pipeline reads text. What only may be text stays what it is. */
function isText(body: Buffer, headers: Headers): boolean {
  if (headers['content-type']?.includes('protobuf') === true) return false;
  return body[0] !== BYTE_ORDER_MARK && isUtf8(body);
}

const BYTE_ORDER_MARK = 0xef;
