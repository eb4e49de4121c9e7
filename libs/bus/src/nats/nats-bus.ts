import { type Clock, describeError, type Log } from '@holdfast/platform';
import { type MsgHdrs, type NatsConnection, NatsError } from 'nats';
import { NATS_CHANGES_AT_ONCE, NATS_REQUEST_TIMEOUT_MS } from '../limits.ts';
import {
  type Bus,
  type BusMessage,
  BusUnavailable,
  type Notes,
  OutOfPlace,
  type Retained,
  type SubscribeOptions,
  type Subscription,
} from '../port.ts';
import { HEARTBEAT_SUBJECT, matchesSubject, subjectToken } from '../subjects.ts';
import { consumerNamesOf } from './consumer-names.ts';
import { HeaderLines, headerLine } from './header-lines.ts';
import {
  decodeAcknowledgement,
  deleteStream,
  ensureStream,
  purgeStream,
  type Request,
  STREAM,
  streamState,
} from './jetstream-api.ts';
import { type NatsAccess, NatsLink } from './link.ts';
import { createNatsNotes } from './nats-notes.ts';
import { NobodyStores, type Outgoing, StoreRequests } from './store-requests.ts';
import { StreamSubscription } from './stream-subscription.ts';
import {
  decodeHeartbeat,
  encodeChange,
  encodeHeartbeat,
  RESTART_SUBJECT,
  takesHeartbeats,
  wireFilter,
} from './wire.ts';

const EXPECTED_STREAM = headerLine('Nats-Expected-Stream', STREAM);

export interface NatsBusOptions extends NatsAccess {
  /** A publisher manages the stream. A consumer does not need to, and its permissions do not allow it. */
  readonly role: 'publisher' | 'consumer';
  readonly clock: Clock;
  readonly log: Log;
  /** Publishers only: a public name of the history behind the stream. A stream of another history is dropped. */
  readonly incarnation?: string;
}

/** Connects in the background and stays connected. Calls throw `BusUnavailable` while there is no connection. */
export function createNatsBus(options: NatsBusOptions): Bus {
  return new NatsBus(options);
}

/** Each client may listen only on inboxes of its own user. */
export function inboxPrefixOf(user: string): string {
  return `_INBOX_${subjectToken(user)}`;
}

class NatsBus implements Bus {
  readonly #options: NatsBusOptions;
  readonly #link: NatsLink;
  readonly #inboxPrefix: string;
  readonly #open = new Set<Subscription>();
  readonly retained?: Retained;
  readonly notes?: Notes;
  readonly changesAtOnce = NATS_CHANGES_AT_ONCE;
  /** Publishers only: the requests in flight to the stream on the current connection. */
  #storing: { readonly on: NatsConnection; readonly requests: StoreRequests } | undefined;
  /**
   * After a purge that moved the next sequence forward, the server (2.9) still compares with its previous count. This
   * is the difference, as learned on this connection. It saves a retry for every change.
   */
  #behind: { readonly on: NatsConnection; readonly by: number } | undefined;

  constructor(options: NatsBusOptions) {
    this.#options = options;
    this.#inboxPrefix = inboxPrefixOf(options.user ?? 'anyone');
    const prepare = async (connection: NatsConnection): Promise<void> => {
      if (options.role === 'publisher') await this.#prepareStream(requestOn(connection));
    };
    this.#link = new NatsLink(options, { ...options, inboxPrefix: this.#inboxPrefix, prepare });
    if (options.role !== 'publisher') return;
    this.retained = this.#createRetained();
    this.notes = createNatsNotes({ onConnection: (listener) => this.#link.onConnection(listener) });
    this.#link.onConnection((connection) => {
      const requests = new StoreRequests(connection, { inboxPrefix: this.#inboxPrefix, clock: options.clock });
      this.#storing = { on: connection, requests };
      connection.subscribe(RESTART_SUBJECT, {
        callback: () => {
          this.#behind = undefined;
        },
      });
    });
  }

  async publish(messages: readonly BusMessage[]): Promise<void> {
    const connection = await this.#link.connection();
    const [first] = messages;
    const last = messages.at(-1);
    if (first === undefined || last === undefined) return;
    if (first.subject === HEARTBEAT_SUBJECT) {
      const wire = encodeHeartbeat(first);
      connection.publish(wire.subject, wire.body, { headers: new HeaderLines(wire.headers) });
      return;
    }
    const sequence = await this.#storeInPlace(connection, messages, first.revision - 1);
    if (sequence !== last.revision) await this.#dropMisplaced(connection, sequence, last.revision);
  }

  /**
   * Another publisher restarted the stream while these messages were in flight. The server (2.9) continued with its
   * previous count and stored them as the next ones. No consumer may take them for the changes of those revisions, so
   * this drops everything and reports it.
   */
  async #dropMisplaced(connection: NatsConnection, sequence: number, revision: number): Promise<never> {
    this.#options.log.warn('dropping the change stream: the broker stored changes at wrong sequence numbers', {
      sequence,
      revision,
    });
    await this.#emptyStream(requestOn(connection));
    connection.publish(RESTART_SUBJECT);
    throw new BusUnavailable(`the stream restarted while changes were in flight: ${revision} became ${sequence}`);
  }

  async #emptyStream(request: Request): Promise<void> {
    this.#behind = undefined;
    await deleteStream(request);
    await ensureStream(request, this.#description());
  }

  /** Resolves with the sequence of the last message. */
  async #storeInPlace(
    connection: NatsConnection,
    messages: readonly BusMessage[],
    expectedLast: number,
  ): Promise<number> {
    const behind = this.#behind?.on === connection ? this.#behind.by : 0;
    try {
      return decodeAcknowledgement(await this.#store(connection, messages, behind));
    } catch (error) {
      if (!(error instanceof OutOfPlace)) throw error;
      const { lastSequence } = await this.#stateOf(requestOn(connection));
      if (lastSequence !== expectedLast) throw new OutOfPlace(lastSequence);
      // Two publishers that both reach this line still exclude each other: the server counts the first stored message.
      const by = lastSequence - error.last;
      const sequence = decodeAcknowledgement(await this.#store(connection, messages, by));
      this.#behind = { on: connection, by };
      return sequence;
    }
  }

  /**
   * Resolves with the acknowledgement of the last message. The others need none: each is stored only directly after the
   * one before it. So a stream that stored the last has them all, and a stream that refused one refuses the last.
   */
  async #store(connection: NatsConnection, messages: readonly BusMessage[], behind: number): Promise<string> {
    if (this.#storing?.on !== connection) throw new BusUnavailable('this client does not publish changes');
    const { requests } = this.#storing;
    const bytesMax = payloadBytesMax(connection);
    const stretch = messages.map((message) => outgoing(message, message.revision - 1 - behind, bytesMax));
    try {
      return await requests.send(stretch);
    } catch (error) {
      // Somebody removed the stream. It is created again empty; the relay detects that.
      if (error instanceof NobodyStores) await this.#prepareStream(requestOn(connection));
      throw unavailable('publish', error);
    }
  }

  async subscribe(patterns: string | readonly string[], options: SubscribeOptions): Promise<Subscription> {
    const list = typeof patterns === 'string' ? [patterns] : patterns;
    if (this.#link.closed) throw new BusUnavailable('the bus is closed');
    const guarded = guard(list, options);
    const followed = this.#follow(list, options.after, guarded);
    let established: Promise<void> | undefined;
    const stopFollowing = this.#link.onConnection((connection) => {
      established = followed.on(connection);
    });
    const subscription: Subscription = {
      close: async () => {
        guarded.close();
        stopFollowing();
        followed.stop();
        this.#open.delete(subscription);
      },
    };
    this.#open.add(subscription);
    // The subscription takes effect for messages published from now on. Without a connection it takes effect later, by
    // replay or by interruption.
    await this.#link.connection().catch((error: unknown) => {
      this.#options.log.info('subscribed without a connection', { error });
    });
    await established;
    return subscription;
  }

  #follow(patterns: readonly string[], after: number | undefined, handlers: Handlers): Followed {
    const { clock, log } = this.#options;
    const filter = wireFilter(patterns);
    const consumerNames = consumerNamesOf(this.#options.user ?? 'anyone');
    const deps = { clock, log, inboxPrefix: this.#inboxPrefix, consumerNames, after, requestOn, ...handlers };
    const stream = filter === undefined ? undefined : new StreamSubscription({ ...deps, filter });
    let stopListening = (): void => {};
    return {
      on: async (connection) => {
        stopListening = listen(connection, (subject, body, headers) => {
          if (subject === HEARTBEAT_SUBJECT && takesHeartbeats(patterns)) {
            handlers.onMessage(decodeHeartbeat(body, headers));
          }
          if (subject !== RESTART_SUBJECT || stream === undefined) return;
          handlers.onInterruption();
          void stream.establish(connection);
        });
        await (stream?.establish(connection) ?? reached(connection));
      },
      stop: () => {
        stopListening();
        stream?.abandon();
      },
    };
  }

  #createRetained(): Retained {
    const request = async (): Promise<Request> => requestOn(await this.#link.connection());
    return {
      position: async () => {
        const state = await this.#stateOf(await request());
        return { floor: Math.max(0, state.firstSequence - 1), last: state.lastSequence };
      },
      restartAfter: async (revision) => {
        const on = await request();
        this.#behind = undefined;
        // A plain purge is not enough: the server (2.9) would keep its previous count and accept messages that other
        // publishers have in flight.
        if ((await this.#stateOf(on)).lastSequence > 0) await this.#emptyStream(on);
        if (revision > 0) await purgeStream(on, revision + 1);
        (await this.#link.connection()).publish(RESTART_SUBJECT);
      },
    };
  }

  async #stateOf(request: Request): Promise<{ readonly firstSequence: number; readonly lastSequence: number }> {
    return (await streamState(request)) ?? this.#prepareStream(request);
  }

  async #prepareStream(request: Request): Promise<{ firstSequence: number; lastSequence: number }> {
    const description = this.#description();
    const existing = await streamState(request);
    const foreign = existing !== undefined && existing.description !== description;
    if (foreign) {
      this.#options.log.warn('dropping the change stream: it belongs to another store', {
        found: existing.description,
      });
      await deleteStream(request);
    }
    await ensureStream(request, description, foreign ? undefined : existing);
    return foreign || existing === undefined ? { firstSequence: 0, lastSequence: 0 } : existing;
  }

  #description(): string {
    return `changes of store ${this.#options.incarnation ?? 'unnamed'}`;
  }

  health(): readonly string[] {
    const trouble = this.#link.trouble();
    return trouble === undefined ? [] : [trouble];
  }

  async close(): Promise<void> {
    const open = [...this.#open];
    for (const subscription of open) await subscription.close();
    await this.#link.close();
  }
}

/** One subscription that outlives its connections. */
interface Followed {
  readonly on: (connection: NatsConnection) => Promise<void>;
  readonly stop: () => void;
}

interface Handlers {
  readonly onMessage: (message: BusMessage) => void;
  readonly onInterruption: () => void;
}

/** Drops messages that the subscriber did not ask for, and all messages after it is closed. */
function guard(patterns: readonly string[], options: SubscribeOptions): Handlers & { readonly close: () => void } {
  const { after, onMessage, onInterruption } = options;
  let closed = false;
  const wanted = (message: BusMessage): boolean =>
    (message.subject === HEARTBEAT_SUBJECT || after === undefined || message.revision > after) &&
    patterns.some((pattern) => matchesSubject(pattern, message.subject));
  return {
    onMessage: (message) => {
      if (!closed && wanted(message)) handle(() => onMessage(message));
    },
    onInterruption: () => {
      if (!closed && onInterruption !== undefined) handle(onInterruption);
    },
    close: () => {
      closed = true;
    },
  };
}

/**
 * A handler that throws is a bug. The error must reach the process and must not break the connection that called the
 * handler.
 */
function handle(run: () => void): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/**
 * Listens to the messages outside the stream. Every role may read these two subjects only, so each is subscribed by
 * name.
 */
function listen(
  connection: NatsConnection,
  onArrival: (subject: string, body: string, headers: MsgHdrs | undefined) => void,
): () => void {
  const subscriptions = [HEARTBEAT_SUBJECT, RESTART_SUBJECT].map((subject) =>
    connection.subscribe(subject, {
      callback: (error, msg) => {
        if (error === null) onArrival(subject, msg.string(), msg.headers);
      },
    }),
  );
  return () => {
    if (connection.isClosed()) return;
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
}

/**
 * Resolves when the server knows all subscriptions made so far, or when the connection is lost: the next connection
 * subscribes again.
 */
async function reached(connection: NatsConnection): Promise<void> {
  // When the connection is lost, the library never settles a pending flush.
  await Promise.race([connection.flush().catch(() => undefined), connection.closed()]);
}

function requestOn(connection: NatsConnection): Request {
  return async (subject, body) => {
    try {
      return (await connection.request(subject, body, { timeout: NATS_REQUEST_TIMEOUT_MS })).string();
    } catch (error) {
      throw unavailable(subject, error);
    }
  };
}

function unavailable(what: string, error: unknown): BusUnavailable {
  const hint = isNoResponders(error) ? ': JetStream does not answer there' : '';
  return new BusUnavailable(`NATS request ${what} failed (${describeError(error)})${hint}`, { cause: error });
}

function isNoResponders(error: unknown): boolean {
  return error instanceof NatsError && error.code === '503';
}

/** The payload limit that the server sent on connect. A server that sends none has the default limit. */
const payloadBytesMax = ({ info }: NatsConnection): number => info?.max_payload ?? 1024 * 1024;

function outgoing(message: BusMessage, expectedLast: number, bytesMax: number): Outgoing {
  const wire = encodeChange(message, bytesMax);
  const expectation = headerLine('Nats-Expected-Last-Sequence', expectedLast);
  return { ...wire, headers: new HeaderLines(wire.headers + EXPECTED_STREAM + expectation) };
}
