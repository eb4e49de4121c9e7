import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { TLSSocket } from 'node:tls';
import type { ApiHandler, ApiRequest, ApiResponse, HttpMethod } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import { describeError, invariant, type Log, OperatorError, type Service } from '@holdfast/platform';
import { fastify } from 'fastify';
import { errorAnswer } from './http/answers.ts';
import { bodyTooLarge } from './http/body.ts';
import { methodNotAllowed } from './http/not-served.ts';
import { HTTP2_STREAMS_MAX, REQUEST_BODY_BYTES_MAX, REQUEST_RECEIVE_TIMEOUT_MS } from './limits.ts';
import { writeResponse } from './response-writer.ts';

export interface HttpsServerDeps {
  readonly handle: ApiHandler;
  readonly log: Log;
  readonly host: string;
  /** 0 takes a free port; see `address()`. */
  readonly port: number;
  /** PEM texts. With `clientCa`, client certificates are asked for and handed to the pipeline when they verify. */
  readonly tls: { readonly certificate: string; readonly key: string; readonly clientCa?: string };
}

export interface HttpsServer extends Service {
  /** Where the server listens, once started. */
  readonly address: () => { readonly host: string; readonly port: number };
}

/** HTTPS in front of the request pipeline: HTTP/2 and HTTP/1.1 on one port. No decision is made here. */
export function createHttpsServer(deps: HttpsServerDeps): HttpsServer {
  const stopping = new AbortController();
  const server = createFastify(deps);
  server.all('/*', (request, reply) => serve(deps, stopping.signal, request, reply));
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    name: 'apiserver-https',
    start: () => (started ??= listen(server, deps)),
    stop: () => {
      stopping.abort();
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

function createFastify(deps: HttpsServerDeps) {
  const { certificate, key, clientCa } = deps.tls;
  const server = fastify({
    http2: true,
    https: {
      allowHTTP1: true,
      cert: certificate,
      key,
      minVersion: 'TLSv1.2',
      settings: { maxConcurrentStreams: HTTP2_STREAMS_MAX },
      ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
    },
    bodyLimit: REQUEST_BODY_BYTES_MAX,
    requestTimeout: REQUEST_RECEIVE_TIMEOUT_MS,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    logger: false,
    routerOptions: { maxParamLength: 4_096 },
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  server.setErrorHandler((error, _request, reply) => {
    const status = isTooLarge(error)
      ? bodyTooLarge()
      : error instanceof StatusError
        ? error
        : badRequest(describeError(error));
    reply.hijack();
    return writeResponse(reply.raw, errorAnswer(status, deps.log), false);
  });
  return server;
}

const isTooLarge = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'statusCode' in error && error.statusCode === 413;

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

async function serve(deps: HttpsServerDeps, stopping: AbortSignal, request: Request, reply: Reply): Promise<void> {
  const gone = new AbortController();
  let answered = false;
  reply.raw.once('close', () => {
    // Every answer ends with a close; only one that came too early has something left to abort.
    if (!answered) gone.abort(CLIENT_GONE);
  });
  const response = await answer(deps, request, AbortSignal.any([stopping, gone.signal]));
  reply.hijack();
  try {
    await writeResponse(reply.raw, response, request.method === 'HEAD');
    answered = true;
  } catch (error) {
    if (gone.signal.aborted) return;
    deps.log.warn('an answer could not be sent', { path: request.url, error: describeError(error) });
    reply.raw.destroy();
  }
}

async function answer(deps: HttpsServerDeps, request: Request, signal: AbortSignal): Promise<ApiResponse> {
  try {
    return await deps.handle(readRequest(request, signal));
  } catch (error) {
    return errorAnswer(error, deps.log);
  }
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const isMethod = (text: string): text is HttpMethod => METHODS.has(text);

function readRequest(request: Request, signal: AbortSignal): ApiRequest {
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
    signal,
    connection: {
      remoteAddress: request.ip,
      ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    },
  };
}

function decodePath(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch (error) {
    throw badRequest('the path is not valid percent-encoding', error);
  }
}

function readHeaders(request: Request): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith(':') || value === undefined) continue;
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
