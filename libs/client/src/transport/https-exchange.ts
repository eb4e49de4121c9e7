import type { IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import { deepFreeze } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { nodeHttps, nodeTls } from '@holdfast/platform/http';
import { RESPONSE_BYTES_MAX } from '../limits.ts';
import { type ApiRequest, type ApiResponse, type ResponseBody, TransportError } from './port.ts';
import { watchFrames } from './watch-frames.ts';

/** Lines of JSON without an end that a client could wait for: the caller reads them as they come. */
const LINES_TYPE = 'application/x-ndjson';

export interface Exchange {
  readonly server: string;
  readonly request: ApiRequest;
  readonly watch: boolean;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  readonly connectTimeoutMs: number;
  readonly watchIdleMs: number;
  /** Something came from the server. */
  readonly heard?: () => void;
}

/** Sends one request to one server. Every rejection is a `TransportError`. */
export async function exchange(options: Exchange): Promise<ApiResponse> {
  if (options.signal.aborted) throw failure(options, options.signal.reason, false);
  const head = await send(options);
  const { incoming } = head;
  const headers = flatten(incoming);
  const status = incoming.statusCode ?? 0;
  if (options.watch && status === 200) {
    head.release();
    return { status, headers, body: { kind: 'watch', frames: watchFrames(incoming, options) } };
  }
  if (status === 200 && headers['content-type'] === LINES_TYPE) {
    head.release();
    return { status, headers, body: { kind: 'stream', chunks: untilSilent(incoming, options) } };
  }
  try {
    return { status, headers, body: bodyOf(headers['content-type'] ?? '', await collect(incoming, options.heard)) };
  } catch (error) {
    throw failure(options, error, true);
  } finally {
    head.release();
  }
}

interface Head {
  readonly incoming: IncomingMessage;
  /** Cancels the deadline and detaches the abort signal from the connection. */
  release(): void;
}

function send(options: Exchange): Promise<Head> {
  const { request, agent, clock, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Head>();
  const outgoing = nodeHttps().request(urlOf(options), { method: request.method, headers: headersOf(request), agent });
  let connected = false;
  const onAbort = (): void => void outgoing.destroy(asError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  const deadline = clock.timer(options.deadlineMs, () => outgoing.destroy(new Error('no answer in time')));
  const connecting = clock.timer(options.connectTimeoutMs, () => outgoing.destroy(new Error('no connection in time')));
  const release = (): void => {
    deadline.cancel();
    connecting.cancel();
    signal.removeEventListener('abort', onAbort);
  };
  const onConnected = (): void => {
    connected = true;
    connecting.cancel();
  };
  outgoing.on('socket', (socket) => {
    if (outgoing.reusedSocket || !(socket instanceof nodeTls().TLSSocket)) onConnected();
    else socket.once('secureConnect', onConnected);
  });
  outgoing.on('response', (incoming) => {
    options.heard?.();
    resolve({ incoming, release });
  });
  outgoing.on('error', (error) => {
    release();
    reject(failure(options, error, connected));
  });
  outgoing.end(request.body);
  return promise;
}

async function collect(incoming: IncomingMessage, heard?: () => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    if (!Buffer.isBuffer(chunk)) throw new Error('the answer is not binary');
    heard?.();
    bytes += chunk.length;
    if (bytes > RESPONSE_BYTES_MAX) throw new Error(`the answer is larger than ${RESPONSE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** Rejects when nothing comes for `watchIdleMs` although the reader waits for it: the connection is half-open. */
async function* untilSilent(incoming: IncomingMessage, options: Exchange): AsyncGenerator<Uint8Array> {
  const { clock, watchIdleMs } = options;
  const onSilence = (): void => void incoming.destroy(new Error(`nothing came for ${watchIdleMs} ms`));
  let timer = clock.timer(watchIdleMs, onSilence);
  try {
    for await (const chunk of incoming) {
      timer.cancel();
      if (!Buffer.isBuffer(chunk)) throw new Error('the answer is not binary');
      yield chunk;
      timer = clock.timer(watchIdleMs, onSilence);
    }
  } catch (error) {
    throw failure(options, error, true);
  } finally {
    timer.cancel();
    incoming.destroy();
  }
}

function bodyOf(contentType: string, bytes: Buffer): ResponseBody {
  if (bytes.length === 0) return { kind: 'empty' };
  if (!contentType.includes('json')) return { kind: 'text', contentType, text: bytes.toString('utf8') };
  let parsed: { readonly value: unknown } | undefined;
  const value = (): unknown => {
    parsed ??= { value: deepFreeze(parseJson(bytes)) };
    return parsed.value;
  };
  return { kind: 'json', bytes: () => bytes, value };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new TransportError('the answer declares JSON but is not valid JSON', { cause: error });
  }
}

function urlOf({ server, request }: Exchange): URL {
  const url = new URL(server);
  url.pathname = request.path.split('/').map(encodeURIComponent).join('/');
  url.search = request.query.toString();
  return url;
}

function headersOf(request: ApiRequest): Record<string, string> {
  if (request.body === undefined) return { ...request.headers };
  return { ...request.headers, 'content-length': String(Buffer.byteLength(request.body)) };
}

function flatten(incoming: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(incoming.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

function failure({ server, request }: Exchange, cause: unknown, possiblySent: boolean): TransportError {
  if (cause instanceof TransportError && cause.possiblySent === possiblySent) return cause;
  return new TransportError(`${request.method} ${request.path} at ${server} got no answer`, { cause, possiblySent });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
