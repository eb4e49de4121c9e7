import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import { CONNECT_TIMEOUT_MS, REQUEST_DEADLINE_MS, WATCH_IDLE_MS, WATCH_SOCKETS_MAX } from '../limits.ts';
import { askInOrder, checkServers, isWatch } from './failover.ts';
import { type ApiRequest, type ApiResponse, type ApiTransport, TransportError } from './port.ts';
import { createServerPool, type ServerPool } from './server-pool.ts';
import { type JoinValues, streamedAnswer, upgradedAnswer } from './streamed-answer.ts';

export interface StreamingTransportOptions {
  /** `https://host:port`, as of the HTTPS transport. */
  readonly servers: readonly string[];
  /** The certificate authority of the servers. */
  readonly caPem: string;
  readonly clock: Clock;
  /** For the head of an answer, and the longest pause in one that ends. */
  readonly requestDeadlineMs?: number;
  readonly connectTimeoutMs?: number;
  /** A watch that is silent for longer has ended. */
  readonly watchIdleMs?: number;
}

export interface StreamingTransport extends ApiTransport {
  /** Asks this server and no other. */
  requestAt(server: string, request: ApiRequest): Promise<ApiResponse>;
}

/**
 * For a server that stands between clients and the API: answers pass as they come, compressed or not, no faster than the
 * client takes them, and so do connections that change their protocol. Servers are changed as by the HTTPS transport.
 */
export function createStreamingTransport(options: StreamingTransportOptions): StreamingTransport {
  checkServers(options.servers);
  return new Streaming(options);
}

class Streaming implements StreamingTransport {
  readonly #options: StreamingTransportOptions;
  readonly #pool: ServerPool;
  readonly #agent: Agent;
  readonly #closing = new AbortController();

  constructor(options: StreamingTransportOptions) {
    this.#options = options;
    this.#pool = createServerPool(options.servers, options.clock);
    this.#agent = new (nodeHttps().Agent)({ ca: options.caPem, keepAlive: true, maxSockets: WATCH_SOCKETS_MAX });
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

  requestAt(server: string, request: ApiRequest): Promise<ApiResponse> {
    return this.#ask(server, request, this.#options.requestDeadlineMs ?? REQUEST_DEADLINE_MS);
  }

  async close(): Promise<void> {
    this.#closing.abort(new TransportError('the transport was closed'));
    this.#agent.destroy();
  }

  #ask(server: string, request: ApiRequest, leftMs: number): Promise<ApiResponse> {
    const { clock, connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options;
    const { signal: closing } = this.#closing;
    const signal = request.signal === undefined ? closing : AbortSignal.any([closing, request.signal]);
    if (signal.aborted) return Promise.reject(noAnswer(server, request, signal.reason, false));
    const sent = nodeHttps().request(urlOf(server, request), {
      method: request.method,
      headers: headersOf(request),
      agent: this.#agent,
      signal,
    });
    const times = { clock, connectTimeoutMs, headMs: leftMs, silenceMs: this.#silenceOf(request) };
    return answerOf(sent, { server, request, times });
  }

  /** A log that is followed may be silent for ever: the connection is probed by TCP. */
  #silenceOf(request: ApiRequest): number | undefined {
    const { watchIdleMs = WATCH_IDLE_MS, requestDeadlineMs = REQUEST_DEADLINE_MS } = this.#options;
    if (isWatch(request)) return watchIdleMs;
    return request.query.get('follow') === 'true' ? undefined : requestDeadlineMs;
  }
}

interface Asked {
  readonly server: string;
  readonly request: ApiRequest;
  readonly times: {
    readonly clock: Clock;
    readonly connectTimeoutMs: number;
    readonly headMs: number;
    readonly silenceMs: number | undefined;
  };
}

/** API servers send no header of which the values could not be joined so. */
const joined: JoinValues = (values) => values.join(', ');

/** Sends the request. Resolves to the head of its answer; every rejection is a `TransportError`. */
function answerOf(sent: ClientRequest, { server, request, times }: Asked): Promise<ApiResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
  const { clock, connectTimeoutMs, headMs, silenceMs } = times;
  let isConnected = false;
  const deadline = clock.timer(headMs, () => sent.destroy(new Error('no answer in time')));
  const connecting = clock.timer(connectTimeoutMs, () => sent.destroy(new Error('no connection in time')));
  const onConnected = (): void => {
    isConnected = true;
    connecting.cancel();
  };
  sent.on('socket', (socket) => (sent.reusedSocket ? onConnected() : socket.once('secureConnect', onConnected)));
  sent.on('error', (error) => reject(noAnswer(server, request, error, isConnected)));
  sent.once('response', (answer) => resolve(passed(answer, clock, silenceMs)));
  sent.once('upgrade', (answer, socket: Duplex, head) =>
    resolve(upgradedAnswer(answer, { socket, head, clock }, joined)),
  );
  sent.end(request.body);
  return promise.finally(() => {
    deadline.cancel();
    connecting.cancel();
  });
}

/** Ends an answer of which nothing comes for `silenceMs` although its reader waits: the connection is half-open. */
function passed(answer: IncomingMessage, clock: Clock, silenceMs: number | undefined): ApiResponse {
  const response = streamedAnswer(answer, joined);
  if (silenceMs === undefined || response.body.kind !== 'stream') return response;
  const { chunks } = response.body;
  const inTime = {
    [Symbol.asyncIterator]: (): AsyncIterator<Uint8Array> => {
      const inner = chunks[Symbol.asyncIterator]();
      return {
        next: () => {
          const timer = clock.timer(silenceMs, () => answer.destroy(new Error(`nothing came for ${silenceMs} ms`)));
          return inner.next().finally(() => timer.cancel());
        },
        return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
  return { ...response, body: { kind: 'stream', chunks: inTime } };
}

function urlOf(server: string, request: ApiRequest): URL {
  const url = new URL(server);
  url.pathname = request.path.split('/').map(encodeURIComponent).join('/');
  url.search = request.query.toString();
  return url;
}

function headersOf({ headers, body }: ApiRequest): Record<string, string> {
  return body === undefined ? { ...headers } : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
}

function noAnswer(server: string, { method, path }: ApiRequest, cause: unknown, possiblySent: boolean): TransportError {
  return new TransportError(`${method} ${path} at ${server} got no answer`, { cause, possiblySent });
}
