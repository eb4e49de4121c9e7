import type { Agent } from 'node:https';
import { type Clock, InFlight, type Tracer } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import {
  CONNECT_TIMEOUT_MS,
  REQUEST_DEADLINE_MS,
  REQUEST_SOCKETS_MAX,
  SERVER_PROBE_MS,
  WATCH_IDLE_MS,
  WATCH_SOCKETS_MAX,
} from '../limits.ts';
import { askInOrder, checkServers, isWatch, onlyReads } from './failover.ts';
import { exchange } from './https-exchange.ts';
import { type ApiRequest, type ApiResponse, type ApiTransport, TransportError } from './port.ts';
import { createServerPool, type ServerPool } from './server-pool.ts';
import { Silence } from './silence.ts';

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
 * it was sent, or when it only reads. This transport never repeats a write that may have arrived. Of several servers, one
 * that falls silent is left within a second, but for the writes that it has.
 */
export function createHttpsTransport(options: HttpsTransportOptions): ApiTransport {
  checkServers(options.servers);
  return new HttpsTransport(options);
}

/** How a request at a server is ended. */
interface Ending {
  readonly server: string;
  readonly controller: AbortController;
  readonly onlyReads: boolean;
}

class HttpsTransport implements ApiTransport {
  readonly #options: HttpsTransportOptions;
  readonly #pool: ServerPool;
  readonly #requests: Agent;
  readonly #watches: Agent;
  readonly #probes: Agent;
  readonly #closing = new AbortController();
  /**
   * The abort controllers of requests that only the transport can abort, which are most. A signal that follows
   * `#closing` would do the same. But that signal tracks its followers by weak references, which keep their targets
   * alive until V8 collects old objects.
   */
  readonly #endings = new InFlight<Ending>();
  /** Ends what follows a signal at each server. */
  readonly #ends = new Map<string, AbortController>();
  /** Undefined with one server: there is no other. */
  readonly #silence: Silence | undefined;

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
    this.#probes = new Agent({ ...tls, keepAlive: false });
    if (options.servers.length > 1)
      this.#silence = new Silence({
        clock: options.clock,
        onSuspect: (server) => this.#pool.failed(server),
        isThere: (server) => this.#isThere(server),
        onGone: (server) => this.#leave(server),
      });
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
    this.#silence?.close();
    for (const { controller } of this.#endings.values()) controller.abort(reason);
    for (const agent of [this.#requests, this.#watches, this.#probes]) agent.destroy();
  }

  async #ask(server: string, request: ApiRequest, leftMs: number): Promise<ApiResponse> {
    const silence = isWatch(request) ? undefined : this.#silence;
    silence?.began(server);
    try {
      return await this.#askUntilEnded(server, request, leftMs);
    } finally {
      silence?.ended(server);
    }
  }

  async #askUntilEnded(server: string, request: ApiRequest, leftMs: number): Promise<ApiResponse> {
    const { signal: closing } = this.#closing;
    const { signal } = request;
    if (signal !== undefined || closing.aborted || isWatch(request)) {
      const left = onlyReads(request) ? [this.#endOf(server)] : [];
      const ends = [closing, ...left, ...(signal === undefined ? [] : [signal])];
      return this.#send(server, request, leftMs, AbortSignal.any(ends));
    }
    const controller = new AbortController();
    const number = this.#endings.add({ server, controller, onlyReads: onlyReads(request) });
    try {
      return await this.#send(server, request, leftMs, controller.signal);
    } finally {
      this.#endings.delete(number);
    }
  }

  #endOf(server: string): AbortSignal {
    let end = this.#ends.get(server);
    if (end === undefined) this.#ends.set(server, (end = new AbortController()));
    return end.signal;
  }

  /**
   * Ends the reads that wait for a server: they are asked of another, and watches begin there. A write goes on waiting: it may
   * be delivered when the server is back, and whoever had given it up could have written something newer by then.
   */
  #leave(server: string): void {
    const reason = new TransportError(`${server} has fallen silent`);
    for (const ending of this.#endings.values())
      if (ending.server === server && ending.onlyReads) ending.controller.abort(reason);
    this.#ends.get(server)?.abort(reason);
    this.#ends.delete(server);
  }

  /** On a connection of its own, which no other request fills. */
  async #isThere(server: string): Promise<boolean> {
    const probe = { method: 'GET', path: '/livez', query: new URLSearchParams(), headers: {} } as const;
    const times = { deadlineMs: SERVER_PROBE_MS, connectTimeoutMs: SERVER_PROBE_MS, watchIdleMs: SERVER_PROBE_MS };
    const { signal } = this.#closing;
    const asked = { server, request: probe, watch: false, agent: this.#probes, clock: this.#options.clock, signal };
    return exchange({ ...asked, ...times }).then(
      () => true,
      () => false,
    );
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
      heard: () => this.#silence?.heard(server),
    });
  }

  #traced(request: ApiRequest): ApiRequest {
    const traceparent = this.#options.tracer?.traceparent();
    return traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } };
  }
}
