import { type Clock, type Log, nextTurn, type Timer } from '@holdfast/platform';
import type { TlsClient } from '@holdfast/platform/tls-client';
import { Redis, type RedisOptions } from 'ioredis';
import {
  REDIS_CONNECT_TIMEOUT_MS,
  REDIS_DISCONNECT_TIMEOUT_MS,
  REDIS_RECONNECT_DELAY_MAX_MS,
  REDIS_RECONNECT_DELAY_MS,
} from '../limits.ts';
import { connectionReason } from './open-errors.ts';

const TLS_SCHEME = 'rediss://';

export interface LinkOptions {
  readonly url: string;
  /** For a `rediss://` server. */
  readonly tls: TlsClient | undefined;
  readonly name: string;
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs on a new connection before anyone may use it. When it rejects, the link drops the connection. */
  readonly admit: (redis: Redis) => Promise<void>;
}

/**
 * One connection to the server, opened again when it breaks. It never resends and never queues. A command goes out on
 * the connection that its caller holds, or fails. So the caller always knows whether it may have been executed.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #waiting = new Set<() => void>();
  #ready: Redis | undefined;
  #dialing: Redis | undefined;
  #retry: Timer | undefined;
  #failures = 0;
  #wasReady = false;
  #closed = false;
  #lastError: unknown;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#dial();
  }

  /** The usable connection, if there is one now. */
  get current(): Redis | undefined {
    return this.#ready;
  }

  /** The reason why there is no connection. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Resolves with the usable connection, or `undefined` when none came within `timeoutMs` or the link was closed. */
  async ready(timeoutMs: number): Promise<Redis | undefined> {
    if (this.#ready !== undefined || this.#closed) return this.#ready;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#waiting.delete(done);
        resolve();
      };
      const timer = this.#options.clock.timer(timeoutMs, done);
      this.#waiting.add(done);
    });
    return this.#ready;
  }

  /** Drops an unresponsive connection. All its pending commands fail, and the link opens a new one. */
  drop(redis: Redis, reason: unknown): void {
    if (redis !== this.#ready && redis !== this.#dialing) return;
    this.#lastError = reason;
    this.#ready = undefined;
    this.#dialing = undefined;
    redis.disconnect();
    this.#scheduleRetry();
  }

  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    for (const redis of [this.#ready, this.#dialing]) redis?.disconnect();
    this.#ready = undefined;
    this.#dialing = undefined;
    this.#wakeWaiting();
  }

  #dial(): void {
    const redis = new Redis(this.#options.url, connectionOptions(this.#options));
    this.#dialing = redis;
    redis.on('error', (error) => {
      this.#lastError = error;
    });
    redis.once('end', () => this.drop(redis, this.#lastError ?? new Error('the connection was closed')));
    void this.#open(redis);
  }

  async #open(redis: Redis): Promise<void> {
    try {
      const connected = redis.connect();
      void nextTurn().then(() => expectMoreErrors(redis));
      await connected;
      await this.#options.admit(redis);
    } catch (error) {
      this.drop(redis, this.#lastError ?? error);
      return;
    }
    if (this.#dialing !== redis) return;
    this.#dialing = undefined;
    this.#ready = redis;
    if (this.#failures > 0) this.#options.log.info('connected to the store', { link: this.#options.name });
    this.#failures = 0;
    this.#wasReady = true;
    this.#lastError = undefined;
    this.#wakeWaiting();
  }

  #scheduleRetry(): void {
    if (this.#closed) return;
    this.#failures += 1;
    const { clock, log, name } = this.#options;
    if (this.#failures === 1) {
      const what = this.#wasReady ? 'lost the connection to the store' : 'no connection to the store yet, trying again';
      log.warn(what, { link: name, reason: connectionReason(this.#lastError) });
    }
    const delay = Math.min(REDIS_RECONNECT_DELAY_MAX_MS, REDIS_RECONNECT_DELAY_MS * this.#failures);
    this.#retry = clock.timer(delay, () => this.#dial());
  }

  #wakeWaiting(): void {
    for (const wake of this.#waiting) wake();
  }
}

/**
 * A TLS socket with an untrusted server may emit a second error when that server reacts to the close. The client
 * listens only for the first, and an unhandled error ends the process. The socket exists after one turn, long before a
 * reply.
 */
function expectMoreErrors({ stream }: Redis): void {
  stream?.on('error', () => {});
}

/** The settings forbid resending and queueing: both would hide what may have been executed. */
function connectionOptions({ url, tls, name, commandTimeoutMs }: LinkOptions) {
  return {
    // Certificates alone do not encrypt a connection whose address has the scheme without TLS.
    ...(tls !== undefined && url.startsWith(TLS_SCHEME) ? { tls } : {}),
    lazyConnect: true,
    protocol: 2,
    connectionName: `holdfast-${name}`,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: null,
    commandTimeout: commandTimeoutMs,
    connectTimeout: REDIS_CONNECT_TIMEOUT_MS,
    disconnectTimeout: REDIS_DISCONNECT_TIMEOUT_MS,
    disableClientInfo: true,
  } satisfies RedisOptions;
}
