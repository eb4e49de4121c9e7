import { type Clock, describeError, type Log } from '@holdfast/platform';
import { explainConnection, type TlsClient } from '@holdfast/platform/tls-client';
import { type ConnectionOptions, connect, type NatsConnection } from 'nats';
import {
  LOG_CONNECT_TIMEOUT_MS,
  LOG_PING_INTERVAL_MS,
  LOG_PINGS_UNANSWERED,
  LOG_RETRY_FIRST_MS,
  LOG_RETRY_LONGEST_MS,
} from '../limits.ts';

const TLS_SCHEME = 'tls://';

export interface LogAccess {
  /** `nats://host:port`, or `tls://host:port` to require TLS: every server of the cluster. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly password?: string;
  readonly tls?: TlsClient;
}

export type Dial = (options: ConnectionOptions) => Promise<NatsConnection>;

export interface LinkOptions {
  readonly access: LogAccess;
  /** Default: `connect` of the client library. */
  readonly dial?: Dial;
  readonly inboxPrefix: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onConnection: (connection: NatsConnection) => void;
  readonly onLost: () => void;
}

/**
 * Keeps a connection to one of the servers open, the next one after each loss. The library's own reconnecting is off:
 * what was under way on a lost connection is unknown, and the owner sends it again.
 */
export class LogLink {
  readonly #options: LinkOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #connection: NatsConnection | undefined;
  #trouble = 'not connected to NATS yet';
  #connectedAt = 0;
  #turn = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get connection(): NatsConnection | undefined {
    return this.#connection;
  }

  /** Returns a sentence about what is wrong, or `undefined` while connected. */
  trouble(): string | undefined {
    return this.#connection === undefined ? this.#trouble : undefined;
  }

  /**
   * Gives up a connection that has been of no use for this long; the next one goes to another server. A server that the
   * others cannot reach looks healthy from here.
   */
  moveOnAfter(uselessMs: number, reason: string): void {
    const { access, clock, log } = this.#options;
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed() || access.servers.length < 2) return;
    if (clock.monotonic() - this.#connectedAt < uselessMs) return;
    log.warn('moving on to another NATS server', { from: connection.getServer(), reason });
    void connection.close();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#connection?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let retryMs = LOG_RETRY_FIRST_MS;
    while (!signal.aborted) {
      const served = await this.#serveOne();
      retryMs = served ? LOG_RETRY_FIRST_MS : Math.min(retryMs * 2, LOG_RETRY_LONGEST_MS);
      await this.#options.clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  async #serveOne(): Promise<boolean> {
    const { onConnection, onLost, clock, log } = this.#options;
    let connection: NatsConnection | undefined;
    try {
      connection = await this.#connect();
      if (this.#stopping.signal.aborted) return true;
      this.#connection = connection;
      this.#connectedAt = clock.monotonic();
      log.info('connected to NATS', { server: connection.getServer() });
      onConnection(connection);
      const end = await connection.closed();
      this.#trouble = `connection to NATS lost${end instanceof Error ? `: ${describeError(end)}` : ''}`;
      return true;
    } catch (error) {
      this.#trouble = `cannot connect to NATS: ${explainConnection('store', error) ?? describeError(error)}`;
      return false;
    } finally {
      const wasServing = this.#connection !== undefined;
      this.#connection = undefined;
      await connection?.close();
      if (wasServing) onLost();
    }
  }

  #connect(): Promise<NatsConnection> {
    const { access, inboxPrefix, dial = connect } = this.#options;
    const { servers, user, password, tls } = access;
    const start = this.#turn++ % servers.length;
    const needsTls = tls ?? (servers.some((server) => server.startsWith(TLS_SCHEME)) ? {} : undefined);
    return dial({
      servers: [...servers.slice(start), ...servers.slice(0, start)],
      noRandomize: true,
      ignoreClusterUpdates: true,
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { pass: password }),
      ...(needsTls === undefined ? {} : { tls: needsTls }),
      inboxPrefix,
      reconnect: false,
      timeout: LOG_CONNECT_TIMEOUT_MS,
      pingInterval: LOG_PING_INTERVAL_MS,
      maxPingOut: LOG_PINGS_UNANSWERED,
    });
  }
}
