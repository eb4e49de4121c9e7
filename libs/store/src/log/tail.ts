import type { Clock, Log, Timer } from '@holdfast/platform';
import { createInbox, type Msg, type NatsConnection, nuid, type Subscription } from 'nats';
import { LOG_ASK_AGAIN_MS, LOG_IDLE_HEARTBEATS_MAX, LOG_RETRY_FIRST_MS, LOG_SILENCE_MS } from '../limits.ts';
import { askAgain } from './ask-again.ts';
import { createConsumer } from './jetstream.ts';

export interface TailDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly inboxPrefix: string;
  readonly stream: string;
  /** The sequence of the last message that was taken. */
  readonly position: () => number;
  /** The highest sequence that the log is known to hold. */
  readonly storedUpTo: () => number;
  /** Runs before each consumer is created. Rejects when this is not the log that was followed so far. */
  readonly verify: (connection: NatsConnection) => Promise<void>;
  /** Takes each message behind the position, in order. */
  readonly onMessage: (sequence: number, payload: Buffer) => void;
  /** The server starts behind the next message: the log before it is gone. */
  readonly onGap: (sequence: number) => void;
}

/**
 * Delivers the log in order, each message once (I2). After a lost message, silence or a new connection the consumer is
 * created again behind the last message that was taken. So it is when its server lives and lags behind: one that can no
 * longer write to its disk applies nothing, and its consumers keep saying that there is nothing new.
 */
export class LogTail {
  readonly #deps: TailDeps;
  /** Messages of an abandoned consumer are dropped. */
  #generation = 0;
  #connection: NatsConnection | undefined;
  #inbox: Subscription | undefined;
  /** Those of consumers that have been asked for, before one is heard. */
  readonly #candidates = new Set<Subscription>();
  #lastConsumerSequence = 0;
  /** Heartbeats in a row while the log holds more than was delivered. */
  #idleHeartbeats = 0;
  #silence: Timer | undefined;
  #retry: Timer | undefined;
  #retryMs = LOG_RETRY_FIRST_MS;
  #heardAt: number | undefined;
  #lastHeardAt: number;

  constructor(deps: TailDeps) {
    this.#deps = deps;
    this.#lastHeardAt = deps.clock.monotonic();
  }

  /** How long no consumer has said anything, on any connection. The creation of a consumer does not count. */
  get silentForMs(): number {
    return this.#deps.clock.monotonic() - this.#lastHeardAt;
  }

  /** When the server was last heard; `undefined` while there is no consumer. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  async establish(connection: NatsConnection): Promise<void> {
    this.abandon();
    const generation = this.#generation;
    const { clock, verify } = this.#deps;
    const isWanted = (): boolean => generation === this.#generation;
    this.#connection = connection;
    this.#lastConsumerSequence = 0;
    this.#idleHeartbeats = 0;
    try {
      await askAgain({ clock, isWanted, ask: () => verify(connection) });
      if (!isWanted()) return;
      await askAgain({ clock, isWanted, ask: () => this.#createConsumer(connection, generation) });
      if (!isWanted()) return;
      this.#retryMs = LOG_RETRY_FIRST_MS;
      this.#heard(generation);
    } catch (error) {
      if (generation === this.#generation) this.#tryLater(connection, error);
    }
  }

  abandon(): void {
    this.#generation += 1;
    this.#heardAt = undefined;
    this.#silence?.cancel();
    this.#retry?.cancel();
    this.#unsubscribe([...this.#candidates, ...(this.#inbox === undefined ? [] : [this.#inbox])]);
    this.#inbox = undefined;
    this.#connection = undefined;
  }

  /** Each attempt has a consumer of its own: one that was placed on a lost server begins when that is back. */
  async #createConsumer(connection: NatsConnection, generation: number): Promise<void> {
    if (this.#inbox !== undefined) return;
    const { inboxPrefix, stream, position } = this.#deps;
    const inbox = createInbox(inboxPrefix);
    const subscription = connection.subscribe(inbox, {
      callback: (error, msg) => {
        if (this.#follows(generation, subscription)) this.#arrive(generation, error, msg);
      },
    });
    this.#candidates.add(subscription);
    await createConsumer(connection, stream, { name: nuid.next(), inbox, from: position() + 1 });
    this.#follows(generation, subscription);
  }

  /** The consumer that is heard first is followed, and no other. */
  #follows(generation: number, subscription: Subscription): boolean {
    if (generation !== this.#generation) return false;
    if (this.#inbox === undefined) {
      this.#inbox = subscription;
      this.#candidates.delete(subscription);
      this.#unsubscribe([...this.#candidates]);
    }
    return this.#inbox === subscription;
  }

  #unsubscribe(subscriptions: readonly Subscription[]): void {
    this.#candidates.clear();
    if (this.#connection?.isClosed() !== false) return;
    for (const each of subscriptions) each.unsubscribe();
  }

  #tryLater(connection: NatsConnection, error: unknown): void {
    this.abandon();
    if (connection.isClosed()) return;
    this.#deps.log.warn('cannot follow the log', { error });
    this.#retry = this.#deps.clock.timer(this.#retryMs, () => void this.establish(connection));
    this.#retryMs = Math.min(this.#retryMs * 2, LOG_ASK_AGAIN_MS);
  }

  #arrive(generation: number, error: Error | null, msg: Msg): void {
    if (generation !== this.#generation) return;
    if (error !== null) return this.#restart('the inbox failed');
    this.#lastHeardAt = this.#deps.clock.monotonic();
    if (msg.headers !== undefined && msg.headers.code === 100) this.#control(generation, msg);
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
    this.#idleHeartbeats = 0;
    this.#heard(generation);
    const expected = this.#deps.position() + 1;
    if (place.streamSequence !== expected) {
      this.abandon();
      this.#deps.onGap(place.streamSequence);
      return;
    }
    const { buffer, byteOffset, byteLength } = msg.data;
    this.#deps.onMessage(place.streamSequence, Buffer.from(buffer, byteOffset, byteLength));
  }

  /** Heartbeats and flow control of the consumer. */
  #control(generation: number, msg: Msg): void {
    this.#heard(generation);
    if (msg.reply !== undefined && msg.reply !== '') msg.respond();
    const stalled = msg.headers?.get('Nats-Consumer-Stalled') ?? '';
    if (stalled !== '') this.#connection?.publish(stalled);
    const sent = msg.headers?.get('Nats-Last-Consumer') ?? '';
    if (sent !== '' && Number(sent) !== this.#lastConsumerSequence)
      this.#restart('the last message was lost on the way');
    else if (stalled === '' && sent !== '') this.#onIdleHeartbeat();
  }

  #onIdleHeartbeat(): void {
    const { position, storedUpTo } = this.#deps;
    this.#idleHeartbeats = storedUpTo() > position() ? this.#idleHeartbeats + 1 : 0;
    if (this.#idleHeartbeats >= LOG_IDLE_HEARTBEATS_MAX) this.#restart('the consumer lags behind the log');
  }

  #heard(generation: number): void {
    const { clock } = this.#deps;
    const now = clock.monotonic();
    const isArmed = this.#heardAt !== undefined;
    this.#heardAt = now;
    if (!isArmed) this.#watch(generation, LOG_SILENCE_MS);
  }

  /** One timer per period of silence, not one per message. */
  #watch(generation: number, delayMs: number): void {
    const { clock } = this.#deps;
    this.#silence?.cancel();
    this.#silence = clock.timer(delayMs, () => {
      if (generation !== this.#generation) return;
      const silentForMs = clock.monotonic() - (this.#heardAt ?? 0);
      if (silentForMs >= LOG_SILENCE_MS) this.#restart('the server went silent');
      else this.#watch(generation, LOG_SILENCE_MS - silentForMs);
    });
  }

  #restart(reason: string): void {
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed()) return;
    this.#deps.log.info('following the log again', { reason });
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
