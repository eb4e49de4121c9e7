import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ApiHandler, ApiRequest, ApiResponse, HttpMethod } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import {
  type Clock,
  createSystemClock,
  describeError,
  InvariantViolation,
  invariant,
  type Log,
  OperatorError,
  type Service,
} from '@holdfast/platform';
import { fastify } from 'fastify';
import { refuseConnection } from './client-error.ts';
import { type ConnectionLimits, guardConnections } from './connection-guard.ts';
import { errorAnswer } from './http/answers.ts';
import { methodNotAllowed } from './http/not-served.ts';
import {
  BODY_BYTES_IN_FLIGHT_MAX,
  CONNECTION_IDLE_MS,
  CONNECTIONS_MAX,
  HTTP2_STREAMS_MAX,
  REQUEST_BODY_BYTES_MAX,
  REQUEST_RECEIVE_TIMEOUT_MS,
  TLS_HANDSHAKE_TIMEOUT_MS,
  WATCH_WRITE_STALL_MS,
} from './limits.ts';
import { type BodyLimits, type BodyReceiver, createBodyReceiver } from './receive-body.ts';
import { writeResponse } from './response-writer.ts';
import { serveUpgrades, type UpgradeDeps } from './upgrades.ts';

export interface HttpsServerDeps {
  readonly handle: ApiHandler;
  readonly log: Log;
  readonly host: string;
  /** 0 takes a free port; see `address()`. */
  readonly port: number;
  /** PEM texts. With `clientCa`, client certificates are asked for and handed to the pipeline when they verify. */
  readonly tls: { readonly certificate: string; readonly key: string; readonly clientCa?: string };
  /** The machine's unless given: connections are never simulated. */
  readonly clock?: Clock;
  readonly limits?: Partial<HttpsLimits>;
}

export interface HttpsLimits extends ConnectionLimits, BodyLimits {
  /** An answer whose client takes nothing for this long is cut off. */
  readonly writeStallMs: number;
}

const STANDARD_LIMITS: HttpsLimits = {
  receiveTimeoutMs: REQUEST_RECEIVE_TIMEOUT_MS,
  handshakeTimeoutMs: TLS_HANDSHAKE_TIMEOUT_MS,
  idleTimeoutMs: CONNECTION_IDLE_MS,
  connectionsMax: CONNECTIONS_MAX,
  bodyBytesMax: REQUEST_BODY_BYTES_MAX,
  bodyBytesInFlightMax: BODY_BYTES_IN_FLIGHT_MAX,
  writeStallMs: WATCH_WRITE_STALL_MS,
};

export interface HttpsServer extends Service {
  /** Where the server listens, once started. */
  readonly address: () => { readonly host: string; readonly port: number };
}

/** HTTPS in front of the request pipeline: HTTP/2 and HTTP/1.1 on one port. No decision is made here. */
export function createHttpsServer(deps: HttpsServerDeps): HttpsServer {
  const stopping = new AbortController();
  const clock = deps.clock ?? createSystemClock();
  const limits = { ...STANDARD_LIMITS, ...deps.limits };
  const bodies = createBodyReceiver(clock, limits);
  const serving: Serving = { ...deps, clock, limits, bodies, stopping: stopping.signal };
  const server = createFastify(serving);
  const guard = guardConnections(server.server, clock, limits);
  server.all('/*', (request, reply) => serve(serving, request, reply));
  serveUpgrades(server.server, upgradeDeps(serving));
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    name: 'apiserver-https',
    start: () => (started ??= listen(server, deps)),
    stop: () => {
      stopping.abort();
      guard.stop();
      return (stopped ??= close(server));
    },
    address: () => {
      const [first] = server.addresses();
      invariant(typeof first === 'object', 'the address of a server is asked for after its start');
      return { host: first.address, port: first.port };
    },
  };
}

type Server = ReturnType<typeof createFastify>;

function upgradeDeps(serving: Serving): UpgradeDeps {
  const { clock, limits, stopping, log } = serving;
  return {
    answer: (raw, signal) =>
      answer(serving, { ...requestLine(raw), headers: raw.headers, body: undefined, raw }, { signal: () => signal }),
    write: (raw, response) => writeResponse(raw, response, { headOnly: false, stallMs: limits.writeStallMs, clock }),
    stopping,
    log,
  };
}

const requestLine = ({ method = '', url = '', socket }: IncomingMessage) => ({
  method,
  url,
  ip: socket.remoteAddress ?? '',
});

/** What we use of a request and a reply, whichever HTTP version they came with. */
interface Request {
  readonly method: string;
  readonly url: string;
  readonly ip: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly raw: IncomingMessage | Http2ServerRequest;
}

interface Reply {
  readonly raw: ServerResponse | Http2ServerResponse;
  hijack(): unknown;
}

interface Serving extends HttpsServerDeps {
  readonly clock: Clock;
  readonly limits: HttpsLimits;
  readonly bodies: BodyReceiver;
  readonly stopping: AbortSignal;
}

function createFastify(serving: Serving) {
  const { limits, bodies, log } = serving;
  const { certificate, key, clientCa } = serving.tls;
  const refuse = (error: unknown, reply: Reply): Promise<void> => {
    const status = error instanceof StatusError ? error : badRequest(describeError(error));
    reply.hijack();
    return writeRefusal(reply.raw, errorAnswer(status, log), serving);
  };
  const server = fastify({
    http2: true,
    https: {
      allowHTTP1: true,
      cert: certificate,
      key,
      minVersion: 'TLSv1.2',
      // Node sets this for HTTP/2 and for plain HTTP/1.1 servers, not for HTTP/1.1 beside HTTP/2: a watch event must not wait for the last one's receipt.
      noDelay: true,
      handshakeTimeout: limits.handshakeTimeoutMs,
      settings: { maxConcurrentStreams: HTTP2_STREAMS_MAX },
      ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
    },
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    logger: false,
    routerOptions: { maxParamLength: 4_096 },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: (error: ClientError, socket: Duplex) => refuseConnection(error, socket, log),
    frameworkErrors: (error, _request, reply) => void refuse(error, reply),
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request: Request, payload: Readable) =>
    bodies.receive(payload, lengthOf(request.headers['content-length'])),
  );
  server.addHook('onRequest', ({ raw }, _reply, done) => {
    nameBody(raw);
    done();
  });
  server.setErrorHandler((error, _request, reply) => refuse(error, reply));
  server.setNotFoundHandler((_request, reply) => refuse(methodNotAllowed(), reply));
  return server;
}

/** The pipeline checks bodies and writes answers. Unless it is told so, Fastify loads two compilers of schemas at its start. */
const noSchemas = (): never => {
  throw new InvariantViolation('routes have no schemas');
};

/** HTTP/2 bodies may come without a length. Without a type as well, Fastify would take such a request for one without a body. */
function nameBody(raw: IncomingMessage | Http2ServerRequest): void {
  if (raw.headers['content-type'] !== undefined || !('stream' in raw) || raw.stream.endAfterHeaders) return;
  raw.headers['content-type'] = 'application/json';
}

interface ClientError extends Error {
  readonly code: string;
}

const lengthOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;

/** The client may still be sending what nobody will read: after the answer it has to stop. */
async function writeRefusal(
  raw: ServerResponse | Http2ServerResponse,
  answer: ApiResponse,
  { clock, limits }: Serving,
): Promise<void> {
  if (!('stream' in raw)) raw.setHeader('connection', 'close');
  await writeResponse(raw, answer, { headOnly: false, stallMs: limits.writeStallMs, clock });
  if ('stream' in raw) raw.stream?.close(constants.NGHTTP2_NO_ERROR);
}

async function listen(server: Server, deps: HttpsServerDeps): Promise<void> {
  try {
    await server.listen({ host: deps.host, port: deps.port });
  } catch (error) {
    throw new OperatorError({
      code: 'LISTEN',
      message: `The API cannot listen on ${deps.host}:${deps.port}: ${describeError(error)}.`,
      nextStep: 'Free the port or choose another one.',
      cause: error,
    });
  }
}

/** Watches have ended through the stop signal; what is left are short requests. */
async function close(server: Server): Promise<void> {
  await server.close();
}

const CLIENT_GONE = new Error('the client has gone');

async function serve(serving: Serving, request: Request, reply: Reply): Promise<void> {
  const departure = followDeparture(serving.stopping, reply.raw);
  const { clock, limits, log } = serving;
  const response = await answer(serving, request, departure);
  if (request.body instanceof Uint8Array) serving.bodies.release(request.body);
  reply.hijack();
  try {
    await writeResponse(reply.raw, response, {
      headOnly: request.method === 'HEAD',
      stallMs: limits.writeStallMs,
      clock,
    });
    departure.answered();
  } catch (error) {
    if (departure.isGone()) return;
    log.warn('an answer could not be sent', { path: request.url, error: describeError(error) });
    reply.raw.destroy();
  }
}

interface Departure {
  /** Aborts when the client goes, or the server stops. Made only for whoever asks: few requests last long enough. */
  signal(): AbortSignal;
  isGone(): boolean;
  answered(): void;
}

function followDeparture(stopping: AbortSignal, raw: ServerResponse | Http2ServerResponse): Departure {
  let state: 'waiting' | 'answered' | 'gone' = 'waiting';
  let gone: AbortController | undefined;
  let signal: AbortSignal | undefined;
  raw.once('close', () => {
    // Every answer ends with a close; only one that came too early has something left to abort.
    if (state !== 'waiting') return;
    state = 'gone';
    gone?.abort(CLIENT_GONE);
  });
  const make = (): AbortSignal => {
    gone = new AbortController();
    if (state === 'gone') gone.abort(CLIENT_GONE);
    return AbortSignal.any([stopping, gone.signal]);
  };
  return {
    signal: () => (signal ??= make()),
    isGone: () => state === 'gone',
    answered: () => {
      state = 'answered';
    },
  };
}

async function answer(
  deps: HttpsServerDeps,
  request: Request,
  departure: Pick<Departure, 'signal'>,
): Promise<ApiResponse> {
  try {
    return await deps.handle(readRequest(request, departure));
  } catch (error) {
    return errorAnswer(error, deps.log);
  }
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const isMethod = (text: string): text is HttpMethod => METHODS.has(text);

function readRequest(request: Request, departure: Pick<Departure, 'signal'>): ApiRequest {
  const { method, body } = request;
  if (!isMethod(method)) throw methodNotAllowed();
  const url = request.raw.url ?? '/';
  const question = url.indexOf('?');
  const certificate = peerCertificate(request);
  return {
    method,
    path: decodePath(question < 0 ? url : url.slice(0, question)),
    query: new URLSearchParams(question < 0 ? '' : url.slice(question + 1)),
    headers: readHeaders(request),
    ...(body instanceof Uint8Array ? { body } : {}),
    get signal() {
      return departure.signal();
    },
    connection:
      certificate === undefined
        ? { remoteAddress: request.ip }
        : { remoteAddress: request.ip, clientCertificate: certificate },
  };
}

function decodePath(raw: string): string {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch (error) {
    throw badRequest('the path is not valid percent-encoding', error);
  }
}

function readHeaders(request: Request): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  const given = request.headers;
  for (const name in given) {
    const value = given[name];
    if (value === undefined || name.startsWith(':')) continue;
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

/** Only a certificate that our own authority signed says who the client is. */
function peerCertificate(request: Request): Uint8Array | undefined {
  const { socket } = request.raw;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  return socket.getPeerX509Certificate()?.raw;
}
