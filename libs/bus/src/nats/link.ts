import { type Clock, describeError, type Log } from '@holdfast/platform';
import { explainConnection, type TlsClient } from '@holdfast/platform/tls-client';
import { connect, type NatsConnection } from 'nats';
import {
  NATS_CONNECT_TIMEOUT_MS,
  NATS_CONNECTION_WAIT_MS,
  NATS_PING_INTERVAL_MS,
  NATS_RETRY_FIRST_MS,
  NATS_RETRY_LONGEST_MS,
} from '../limits.ts';
import { BusUnavailable } from '../port.ts';

const TLS_SCHEME = 'tls://';

export interface NatsAccess {
  /** `nats://host:port`, or `tls://host:port` to require TLS. The link uses whichever server answers. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly password?: string;
  /** Also requires TLS. */
  readonly tls?: TlsClient;
}

/**
 * Keeps one connection open for as long as it runs. The library's own reconnecting is off: each connection is an epoch,
 * and every subscription is created again from its last position. So the first connection and all later ones share one
 * path.
 */
export class NatsLink {
  readonly #access: NatsAccess;
  readonly #inboxPrefix: string;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Runs on a new connection before anyone else may use it. */
  readonly #prepare: (connection: NatsConnection) => Promise<void>;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<(connection: NatsConnection) => void>();
  readonly #running: Promise<void>;
  #connection: NatsConnection | undefined;
  #trouble = 'not connected to NATS yet';

  constructor(
    access: NatsAccess,
    options: {
      readonly inboxPrefix: string;
      readonly clock: Clock;
      readonly log: Log;
      readonly prepare: (connection: NatsConnection) => Promise<void>;
    },
  ) {
    this.#access = access;
    this.#inboxPrefix = options.inboxPrefix;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#prepare = options.prepare;
    this.#running = this.#run();
  }

  get closed(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Returns a sentence about what is wrong, or `undefined` while connected. */
  trouble(): string | undefined {
    return this.#connection === undefined ? this.#trouble : undefined;
  }

  /**
   * Calls `listener` for the current connection, if there is one, and for every later one. Returns a function that
   * stops this.
   */
  onConnection(listener: (connection: NatsConnection) => void): () => void {
    this.#listeners.add(listener);
    if (this.#connection !== undefined) listener(this.#connection);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves with the connection. Waits a short time for one. */
  async connection(): Promise<NatsConnection> {
    if (this.#connection === undefined && !this.closed) await this.#wait();
    if (this.#connection === undefined) throw new BusUnavailable(this.#trouble);
    return this.#connection;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#trouble = 'the bus is closed';
    await this.#connection?.close();
    await this.#running;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#listeners.delete(done);
        this.#stopping.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.#clock.timer(NATS_CONNECTION_WAIT_MS, done);
      this.#stopping.signal.addEventListener('abort', done);
      this.#listeners.add(done);
    });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let retryMs = NATS_RETRY_FIRST_MS;
    while (!signal.aborted) {
      const served = await this.#serveOneConnection();
      if (signal.aborted) return;
      retryMs = served ? NATS_RETRY_FIRST_MS : Math.min(retryMs * 2, NATS_RETRY_LONGEST_MS);
      await this.#clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  /** Resolves with false when no usable connection was made. */
  async #serveOneConnection(): Promise<boolean> {
    let connection: NatsConnection | undefined;
    try {
      connection = await this.#connect();
      await this.#prepare(connection);
      if (this.closed) return true;
      this.#connection = connection;
      this.#log.info('connected to NATS', { server: connection.getServer() });
      for (const listener of this.#listeners) listener(connection);
      const end = await connection.closed();
      this.#noteTrouble(`connection to NATS lost${end instanceof Error ? `: ${describeError(end)}` : ''}`);
      return true;
    } catch (error) {
      this.#noteTrouble(`cannot connect to NATS: ${explainConnection('bus', error) ?? describeError(error)}`);
      return false;
    } finally {
      this.#connection = undefined;
      await connection?.close();
    }
  }

  #connect(): Promise<NatsConnection> {
    const { servers, user, password } = this.#access;
    const tls = this.#tls();
    return connect({
      servers: [...servers],
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { pass: password }),
      ...(tls === undefined ? {} : { tls }),
      inboxPrefix: this.#inboxPrefix,
      reconnect: false,
      timeout: NATS_CONNECT_TIMEOUT_MS,
      pingInterval: NATS_PING_INTERVAL_MS,
      maxPingOut: 2,
    });
  }

  /**
   * With any object here, even an empty one, the library sends nothing to a server without TLS, not even the password.
   */
  #tls(): TlsClient | undefined {
    const { servers, tls } = this.#access;
    return tls ?? (servers.some((server) => server.startsWith(TLS_SCHEME)) ? {} : undefined);
  }

  #noteTrouble(trouble: string): void {
    if (this.closed) return;
    if (trouble !== this.#trouble) this.#log.warn('no connection to NATS', { trouble });
    this.#trouble = trouble;
  }
}
