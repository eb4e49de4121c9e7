import { type Clock, describeError } from '@holdfast/platform';
import { createInbox, type Msg, type NatsConnection } from 'nats';
import { LOG_PAYLOAD_MARGIN_BYTES } from '../limits.ts';
import { decodeAcknowledgement } from './jetstream.ts';
import type { Proposed } from './proposer.ts';
import { headersOf } from './publish-headers.ts';

export interface PublicationsDeps {
  readonly clock: Clock;
  readonly inboxPrefix: string;
  /** `undefined` while there is none. */
  readonly connection: () => NatsConnection | undefined;
  /** Where entries go. */
  readonly place: () => { readonly stream: string; readonly subject: string };
  /** The last entry that this process has applied, or knows to have been there. */
  readonly position: () => number;
  /** The log has no leader at the moment. */
  readonly onRefused: () => void;
  readonly onWentBack: (reason: string) => void;
}

/** Sends entries of this process to the log, and notes what the servers say about them. Whether one counts is seen in the log. */
export class Publications {
  readonly #deps: PublicationsDeps;
  #payloadMax: number | undefined;
  #inbox: string | undefined;
  #lastRefusal: string | undefined;
  #storedAt = 0;
  #storedUpTo = 0;

  constructor(deps: PublicationsDeps) {
    this.#deps = deps;
  }

  /** What the servers said last instead of storing an entry. */
  get lastRefusal(): string | undefined {
    return this.#lastRefusal;
  }

  /** Since the servers stored an entry of this process. */
  get storedAgoMs(): number {
    return this.#deps.clock.monotonic() - this.#storedAt;
  }

  /** The log is known to hold everything up to here. */
  get storedUpTo(): number {
    return this.#storedUpTo;
  }

  /** Notes that the log was seen to hold this sequence. */
  sawStored(sequence: number): void {
    this.#storedUpTo = Math.max(this.#storedUpTo, sequence);
  }

  /** Listens on a new connection. Answers of older ones count no more. */
  begin(connection: NatsConnection): void {
    const inbox = createInbox(this.#deps.inboxPrefix);
    connection.subscribe(`${inbox}.*`, { callback: (error, msg) => error ?? this.#onAcknowledgement(inbox, msg) });
    this.#inbox = inbox;
  }

  send({ payload }: Proposed): void {
    const { connection, place, position } = this.#deps;
    const open = connection();
    if (open === undefined || open.isClosed() || this.#inbox === undefined) return;
    // The client library would throw, and the connection with all other entries would be given up for this one.
    const max = this.payloadMax() ?? Number.POSITIVE_INFINITY;
    if (payload.length > max) {
      this.#lastRefusal = `an entry of ${payload.length} bytes is larger than a message of this server may be (max_payload)`;
      return;
    }
    const { stream, subject } = place();
    open.publish(subject, payload, { reply: `${this.#inbox}.${position()}`, headers: headersOf(stream) });
  }

  /** The largest payload that the server takes, or the last one took; `undefined` before the first connection. */
  payloadMax(): number | undefined {
    const max = this.#deps.connection()?.info?.max_payload;
    if (max !== undefined) this.#payloadMax = max - LOG_PAYLOAD_MARGIN_BYTES;
    return this.#payloadMax;
  }

  #onAcknowledgement(inbox: string, msg: Msg): void {
    if (inbox !== this.#inbox) return;
    if (msg.headers?.code === NO_RESPONDERS) {
      this.#lastRefusal = 'the log has no leader';
      this.#deps.onRefused();
      return;
    }
    try {
      this.#onStored(decodeAcknowledgement(msg.string()), Number(msg.subject.slice(inbox.length + 1)));
    } catch (error) {
      this.#lastRefusal = describeError(error);
    }
  }

  /** Invariant I5: what is stored comes behind everything that had been applied when it was sent. */
  #onStored({ stream, sequence }: { readonly stream: string; readonly sequence: number }, before: number): void {
    const { clock, place, onWentBack } = this.#deps;
    this.#lastRefusal = undefined;
    this.#storedAt = clock.monotonic();
    if (stream === place().stream && sequence > before) this.sawStored(sequence);
    else onWentBack(`an entry was stored at ${sequence} of ${stream}, although ${before} was there`);
  }
}

const NO_RESPONDERS = 503;
