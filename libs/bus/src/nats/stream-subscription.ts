import type { Clock, Log, Timer } from '@holdfast/platform';
import type { Msg, NatsConnection, Subscription as NatsSubscription } from 'nats';
import { createInbox, nuid } from 'nats';
import { CONSUMER_SILENCE_MS, NATS_RETRY_FIRST_MS, NATS_RETRY_LONGEST_MS } from '../limits.ts';
import { type BusMessage, BusUnavailable } from '../port.ts';
import { freeName } from './consumer-names.ts';
import { createConsumer, deleteConsumer, type Request } from './jetstream-api.ts';
import { decodeChange } from './wire.ts';

export interface StreamSubscriptionDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly inboxPrefix: string;
  /** The allowed names of this user's consumers; `undefined` allows any name. */
  readonly consumerNames: readonly string[] | undefined;
  readonly filter: string;
  readonly after: number | undefined;
  readonly requestOn: (connection: NatsConnection) => Request;
  readonly onMessage: (message: BusMessage) => void;
  readonly onInterruption: () => void;
}

/**
 * Delivers the messages of one filter in order, each once. The server numbers the messages of a consumer. After a
 * missing number, silence or a new connection this creates the consumer again after the last sequence that arrived, so
 * nothing is lost as long as the stream still has it. When the stream has lost it, or is a different stream, the
 * subscriber gets an interruption.
 */
export class StreamSubscription {
  readonly #deps: StreamSubscriptionDeps;
  /** All messages of the filter up to this sequence have arrived; `undefined` until the first consumer exists. */
  #position: number | undefined;
  /** Incremented whenever the consumer is abandoned. Messages of an older generation are dropped. */
  #generation = 0;
  #connection: NatsConnection | undefined;
  #inbox: NatsSubscription | undefined;
  #lastConsumerSequence = 0;
  #silence: Timer | undefined;
  #retry: Timer | undefined;
  #retryMs = NATS_RETRY_FIRST_MS;
  /** Index of the name whose consumer is replaced next, when no name becomes free. */
  #nextVictim = 0;
  /** Messages that arrived before the reply with the start position of the consumer. */
  #early: Msg[] | undefined;

  constructor(deps: StreamSubscriptionDeps) {
    this.#deps = deps;
  }

  /** Resolves when the consumer exists, or when a later retry is scheduled. */
  async establish(connection: NatsConnection): Promise<void> {
    this.abandon();
    const generation = this.#generation;
    this.#connection = connection;
    this.#lastConsumerSequence = 0;
    this.#early = [];
    try {
      const inbox = createInbox(this.#deps.inboxPrefix);
      this.#inbox = connection.subscribe(inbox, { callback: (error, msg) => this.#arrive(generation, error, msg) });
      const { filter, after } = this.#deps;
      const request = this.#deps.requestOn(connection);
      const from = this.#position ?? after;
      const name = await this.#chooseName(request);
      if (generation !== this.#generation) return;
      const consumer = await createConsumer(request, { name, filter, inbox, after: from });
      if (generation === this.#generation) this.#begin(generation, consumer.after);
    } catch (error) {
      if (generation === this.#generation) this.#tryLater(connection, error);
    }
  }

  /** Delivers no message until the next `establish`. */
  abandon(): void {
    this.#generation += 1;
    this.#silence?.cancel();
    this.#retry?.cancel();
    // On a closed connection there is nothing to unsubscribe.
    if (this.#connection?.isClosed() === false) this.#inbox?.unsubscribe();
    this.#inbox = undefined;
    this.#connection = undefined;
    this.#early = undefined;
  }

  /**
   * Waits for a consumer that outlived its process. One that stays is replaced, because otherwise nothing would ever
   * arrive.
   */
  async #chooseName(request: Request): Promise<string> {
    const { consumerNames } = this.#deps;
    if (consumerNames === undefined) return nuid.next();
    const free = await freeName(request, consumerNames);
    if (free !== undefined) return free;
    const victim = consumerNames[this.#nextVictim];
    if (victim === undefined || this.#retryMs < NATS_RETRY_LONGEST_MS)
      throw new BusUnavailable(`all ${consumerNames.length} consumer names of this node are in use`);
    this.#nextVictim = (this.#nextVictim + 1) % consumerNames.length;
    await deleteConsumer(request, victim);
    return victim;
  }

  #begin(generation: number, startsAfter: number): void {
    const { after } = this.#deps;
    // On the first call, a stream that ends before `after` is only late, and one that begins above it has dropped
    // messages. On later calls, any position other than the last one means that the stream lost messages.
    const broken =
      this.#position === undefined ? after !== undefined && startsAfter > after : startsAfter !== this.#position;
    this.#position = startsAfter;
    this.#retryMs = NATS_RETRY_FIRST_MS;
    if (broken) this.#deps.onInterruption();
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#heard(generation);
    for (const msg of early) this.#arrive(generation, null, msg);
  }

  #tryLater(connection: NatsConnection, error: unknown): void {
    this.abandon();
    if (connection.isClosed()) return;
    this.#deps.log.warn('cannot follow the change stream', { filter: this.#deps.filter, error });
    this.#retry = this.#deps.clock.timer(this.#retryMs, () => void this.establish(connection));
    this.#retryMs = Math.min(this.#retryMs * 2, NATS_RETRY_LONGEST_MS);
  }

  #arrive(generation: number, error: Error | null, msg: Msg): void {
    if (generation !== this.#generation) return;
    if (error !== null) this.#restart('the inbox failed', error);
    else if (this.#early !== undefined) this.#early.push(msg);
    else if (msg.headers !== undefined && msg.headers.code === 100) this.#control(generation, msg);
    else this.#deliver(generation, msg);
  }

  #deliver(generation: number, msg: Msg): void {
    const place = placeOf(msg.reply);
    if (place === undefined) return;
    if (place.consumerSequence !== this.#lastConsumerSequence + 1) {
      this.#restart('a message was lost on the way');
      return;
    }
    this.#lastConsumerSequence = place.consumerSequence;
    this.#position = place.streamSequence;
    this.#heard(generation);
    const { subject, headers } = msg;
    const messages = decodeChange({ subject, sequence: place.streamSequence, body: msg.string(), headers });
    for (const message of messages) {
      if (generation === this.#generation) this.#deps.onMessage(message);
    }
  }

  /** Handles heartbeats and flow control of the consumer. */
  #control(generation: number, msg: Msg): void {
    this.#heard(generation);
    if (msg.reply !== undefined && msg.reply !== '') msg.respond();
    const stalled = msg.headers?.get('Nats-Consumer-Stalled') ?? '';
    if (stalled !== '') this.#connection?.publish(stalled);
    const sent = msg.headers?.get('Nats-Last-Consumer') ?? '';
    if (sent !== '' && Number(sent) !== this.#lastConsumerSequence)
      this.#restart('the last message was lost on the way');
  }

  #heard(generation: number): void {
    this.#silence?.cancel();
    this.#silence = this.#deps.clock.timer(CONSUMER_SILENCE_MS, () => {
      if (generation === this.#generation) this.#restart('the server went silent');
    });
  }

  #restart(reason: string, error?: Error): void {
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed()) return;
    this.#deps.log.info('subscribing to the change stream again', { filter: this.#deps.filter, reason, error });
    void this.establish(connection);
  }
}

/** `$JS.ACK.<stream>.<consumer>.<n>.<stream seq>.<consumer seq>...`; newer servers put domain and account before the stream. */
function placeOf(
  reply: string | undefined,
): { readonly streamSequence: number; readonly consumerSequence: number } | undefined {
  const tokens = (reply ?? '').split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  const shift = tokens.length >= 11 ? 2 : 0;
  return { streamSequence: Number(tokens[5 + shift]), consumerSequence: Number(tokens[6 + shift]) };
}
