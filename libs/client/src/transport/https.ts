import type { Agent } from 'node:https';
import { type Clock, InFlight, OperatorError, type Tracer } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import {
  CONNECT_TIMEOUT_MS,
  REQUEST_DEADLINE_MS,
  REQUEST_SOCKETS_MAX,
  WATCH_IDLE_MS,
  WATCH_SOCKETS_MAX,
} from '../limits.ts';
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
  for (const server of options.servers) requireHttps(server);
  if (options.servers.length === 0) throw noServers();
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

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { clock, requestDeadlineMs = REQUEST_DEADLINE_MS } = this.#options;
    const deadlineAt = clock.monotonic() + requestDeadlineMs;
    const order = this.#pool.order();
    // One attempt more than there are servers: a kept connection that the server just closed costs the first one.
    for (let attempt = 0; ; attempt++) {
      const server = order[attempt % order.length] ?? '';
      try {
        return await this.#ask(server, request, deadlineAt - clock.monotonic());
      } catch (error) {
        this.#pool.failed(server);
        const last = attempt >= order.length || clock.monotonic() >= deadlineAt;
        if (last || this.#given(request) || !mayRepeat(request, error)) throw error;
      }
    }
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
    const response = await exchange({
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
    // A server that is not ready responds with 503. The caller gets that response; the next request uses another
    // server.
    if (response.status === 503) this.#pool.failed(server);
    else this.#pool.served(server);
    return response;
  }

  #traced(request: ApiRequest): ApiRequest {
    const traceparent = this.#options.tracer?.traceparent();
    return traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } };
  }

  #given(request: ApiRequest): boolean {
    return this.#closing.signal.aborted || request.signal?.aborted === true;
  }
}

function mayRepeat(request: ApiRequest, error: unknown): boolean {
  if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS') return true;
  return error instanceof TransportError && !error.possiblySent;
}

function isWatch(request: ApiRequest): boolean {
  const watch = request.query.get('watch');
  return request.method === 'GET' && (watch === 'true' || watch === '1');
}

function requireHttps(server: string): void {
  if (URL.canParse(server) && new URL(server).protocol === 'https:') return;
  throw new OperatorError({
    code: 'ApiServerAddress',
    message: `${JSON.stringify(server)} is not the address of an API server`,
    nextStep: 'give addresses of the form https://host:port, separated by commas',
    exitCode: 2,
  });
}

function noServers(): OperatorError {
  return new OperatorError({
    code: 'ApiServerAddress',
    message: 'no API server is configured',
    nextStep: 'set HOLDFAST_API_SERVERS to at least one https://host:port',
    exitCode: 2,
  });
}
