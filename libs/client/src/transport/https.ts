import type { Agent } from 'node:https';
import { type Clock, InFlight, type Tracer } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import {
  CONNECT_TIMEOUT_MS,
  REQUEST_DEADLINE_MS,
  REQUEST_SOCKETS_MAX,
  WATCH_IDLE_MS,
  WATCH_SOCKETS_MAX,
} from '../limits.ts';
import { askInOrder, checkServers, isWatch } from './failover.ts';
import { exchange } from './https-exchange.ts';
import { type ApiRequest, type ApiResponse, type ApiTransport, TransportError } from './port.ts';
import { createServerPool, type ServerPool } from './server-pool.ts';

export interface HttpsTransportOptions {
  /**
   * `https://host:port`. The first request tries them in this order; later ones start with the server that last
   * succeeded.
   */
  readonly servers: readonly string[];
  /** The certificate authority of the servers. */
  readonly caPem: string;
  readonly clock: Clock;
  /** Sends the span of the request to servers. */
  readonly tracer?: Tracer | undefined;
  /** For clients that authenticate with a certificate instead of a token. */
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
  readonly requestDeadlineMs?: number;
  readonly connectTimeoutMs?: number;
  readonly watchIdleMs?: number;
}

/**
 * HTTPS with kept connections and failover. A request moves to the next server only when it is certain that nothing of
 * it was sent, or when it only reads. This transport never repeats a write that may have arrived.
 */
export function createHttpsTransport(options: HttpsTransportOptions): ApiTransport {
  checkServers(options.servers);
  return new HttpsTransport(options);
}

class HttpsTransport implements ApiTransport {
  readonly #options: HttpsTransportOptions;
  readonly #pool: ServerPool;
  readonly #requests: Agent;
  readonly #watches: Agent;
  readonly #closing = new AbortController();
  /**
   * The abort controllers of requests that only the transport can abort, which are most. A signal that follows
   * `#closing` would do the same. But that signal tracks its followers by weak references, which keep their targets
   * alive until V8 collects old objects.
   */
  readonly #endings = new InFlight<AbortController>();

  constructor(options: HttpsTransportOptions) {
    this.#options = options;
    this.#pool = createServerPool(options.servers, options.clock);
    const tls = {
      ca: options.caPem,
      keepAlive: true,
      ...(options.clientCertificate === undefined
        ? {}
        : { cert: options.clientCertificate.certPem, key: options.clientCertificate.keyPem }),
    };
    const { Agent } = nodeHttps();
    this.#requests = new Agent({ ...tls, maxSockets: REQUEST_SOCKETS_MAX });
    this.#watches = new Agent({ ...tls, maxSockets: WATCH_SOCKETS_MAX });
  }

  request(request: ApiRequest): Promise<ApiResponse> {
    const { clock, requestDeadlineMs = REQUEST_DEADLINE_MS } = this.#options;
    return askInOrder(request, {
      pool: this.#pool,
      clock,
      deadlineMs: requestDeadlineMs,
      isOver: () => this.#closing.signal.aborted || request.signal?.aborted === true,
      ask: (server, leftMs) => this.#ask(server, request, leftMs),
    });
  }

  async close(): Promise<void> {
    const reason = new TransportError('the transport was closed');
    this.#closing.abort(reason);
    for (const ending of this.#endings.values()) ending.abort(reason);
    this.#requests.destroy();
    this.#watches.destroy();
  }

  async #ask(server: string, request: ApiRequest, leftMs: number): Promise<ApiResponse> {
    const { signal: closing } = this.#closing;
    const { signal } = request;
    if (signal !== undefined) return this.#send(server, request, leftMs, AbortSignal.any([closing, signal]));
    if (closing.aborted || isWatch(request)) return this.#send(server, request, leftMs, closing);
    const ending = new AbortController();
    const number = this.#endings.add(ending);
    try {
      return await this.#send(server, request, leftMs, ending.signal);
    } finally {
      this.#endings.delete(number);
    }
  }

  async #send(server: string, request: ApiRequest, leftMs: number, signal: AbortSignal): Promise<ApiResponse> {
    const { clock, connectTimeoutMs = CONNECT_TIMEOUT_MS, watchIdleMs = WATCH_IDLE_MS } = this.#options;
    const watch = isWatch(request);
    return exchange({
      server,
      request: this.#traced(request),
      watch,
      agent: watch ? this.#watches : this.#requests,
      clock,
      signal,
      deadlineMs: leftMs,
      connectTimeoutMs,
      watchIdleMs,
    });
  }

  #traced(request: ApiRequest): ApiRequest {
    const traceparent = this.#options.tracer?.traceparent();
    return traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } };
  }
}
