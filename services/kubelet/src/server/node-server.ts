import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import type { ApiHandler, ApiRequest, ApiResponse, Caller, HttpMethod } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import { describeError, invariant, type Log, OperatorError, type Service } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';
import type { TlsPair } from '@holdfast/platform/pair-watch';
import { NODE_REQUEST_RECEIVE_MS } from '../limits.ts';
import type { NodeAccess } from './node-access.ts';
import { errorAnswer } from './node-api.ts';

export interface NodeServerDeps {
  readonly handle: ApiHandler;
  readonly access: NodeAccess;
  readonly log: Log;
  readonly host: string;
  /** 0 takes a free one; see `port()`. */
  readonly port: number;
  /** PEM texts. Client certificates count when `clientCa` signed them. */
  readonly tls: NodeTls;
}

interface NodeTls extends TlsPair {
  readonly clientCa: string;
}

export interface NodeServer extends Service {
  /** Once started. */
  port(): number;
  /** Another certificate, for new connections. */
  readonly renew: (pair: TlsPair) => void;
}

/** The node's own HTTPS port, for the API servers of a distributed cluster. */
export function createNodeServer(deps: NodeServerDeps): NodeServer {
  const stopping = new AbortController();
  const open = new Set<Duplex>();
  const server = createServer({
    ...contextOf(deps.tls),
    requestCert: true,
    rejectUnauthorized: false,
    requestTimeout: NODE_REQUEST_RECEIVE_MS,
  });
  server.on('request', (request, raw) => {
    raw.on('error', () => raw.destroy());
    void answerOf(deps, request, gone(raw, stopping.signal)).then((answer) => write(raw, answer, deps.log));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    void answerOf(deps, request, gone(socket, stopping.signal))
      .then((answer) => upgrade(request, socket, { head, answer, log: deps.log }))
      .catch((error: unknown) => {
        deps.log.error('a request to this node failed', { error: describeError(error) });
        socket.destroy();
      });
  });
  return {
    name: 'kubelet-https',
    start: () => listen(server, deps),
    renew: (pair) => server.setSecureContext(contextOf({ ...deps.tls, ...pair })),
    stop: async () => {
      stopping.abort(new Error('the kubelet is stopping'));
      for (const socket of open) socket.destroy();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
    port: () => {
      const address = server.address();
      invariant(typeof address === 'object' && address !== null, 'the port of a server is known only after its start');
      return address.port;
    },
  };
}

const contextOf = ({ certificate, key, clientCa }: NodeTls) => ({
  cert: certificate,
  key,
  ca: clientCa,
  minVersion: 'TLSv1.2' as const,
});

function listen(server: Server, { host, port }: NodeServerDeps): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', (cause) =>
      reject(
        new OperatorError({
          code: 'LISTEN',
          message: `The kubelet cannot listen on ${host}:${port}: ${describeError(cause)}.`,
          nextStep: 'Free the port or choose another one with --port.',
          cause,
        }),
      ),
    );
    server.listen(port, host, () => resolve());
  });
}

/** Aborts when the client leaves before its answer, or the server stops. */
function gone(source: Duplex | ServerResponse, stopping: AbortSignal): AbortSignal {
  const left = new AbortController();
  source.once('close', () => left.abort(new Error('the client has gone')));
  return AbortSignal.any([stopping, left.signal]);
}

async function answerOf(deps: NodeServerDeps, raw: IncomingMessage, signal: AbortSignal): Promise<ApiResponse> {
  try {
    const request = readRequest(raw, signal);
    await deps.access(request, callerOf(raw.socket));
    return await deps.handle(request);
  } catch (error) {
    return errorAnswer(error, deps.log);
  }
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const isMethod = (text: string): text is HttpMethod => METHODS.has(text);

function readRequest({ method = '', url = '/', headers }: IncomingMessage, signal: AbortSignal): ApiRequest {
  if (!isMethod(method)) throw new StatusError({ code: 405, reason: 'MethodNotAllowed', message: 'unknown method' });
  const { pathname, searchParams } = readUrl(url);
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return { method, path: pathname, query: searchParams, headers: Object.fromEntries(pairs), signal };
}

function readUrl(url: string): { readonly pathname: string; readonly searchParams: URLSearchParams } {
  const [path = '/'] = url.split('?', 1);
  try {
    return { pathname: decodeURIComponent(path), searchParams: new URLSearchParams(url.slice(path.length + 1)) };
  } catch (error) {
    throw badRequest('the path is not valid percent-encoding', error);
  }
}

/** Only a certificate of the cluster's authority identifies the client. */
function callerOf(socket: Socket): Caller | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { CN: user, O: groups } = socket.getPeerCertificate().subject;
  if (typeof user !== 'string' || user === '') return undefined;
  return { user, groups: typeof groups === 'string' ? [groups] : (groups ?? []) };
}

/** Never throws: an answer that cannot be written is the end of its connection, not of the node. */
async function write(raw: ServerResponse, answer: ApiResponse, log: Log): Promise<void> {
  try {
    await writeAnswer(raw, answer);
  } catch (error) {
    if (!raw.headersSent && !raw.destroyed) {
      await writeAnswer(raw, errorAnswer(error, log));
      return;
    }
    // The client left in the middle.
    log.debug('a response of this node was cut off', { error: describeError(error) });
    raw.destroy();
  }
}

async function writeAnswer(raw: ServerResponse, { status, headers, body }: ApiResponse): Promise<void> {
  // Whatever fails while the body is made fails before the header is sent.
  const whole = body.kind === 'json' ? body.bytes() : body.kind === 'text' ? body.text : undefined;
  raw.writeHead(status, headers);
  if (body.kind !== 'stream') {
    raw.end(whole);
    return;
  }
  raw.flushHeaders();
  await pipeline(Readable.from(body.chunks), raw);
}

async function upgrade(
  request: IncomingMessage,
  socket: Duplex,
  { head, answer, log }: { readonly head: Buffer; readonly answer: ApiResponse; readonly log: Log },
): Promise<void> {
  if (answer.upgrade !== undefined) {
    if (socket.destroyed) return;
    const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${answer.status} ${nodeHttp().STATUS_CODES[answer.status] ?? ''}\r\n${lines.join('')}\r\n`);
    answer.upgrade(socket, head);
    return;
  }
  if (!(socket instanceof Socket)) return void socket.destroy();
  const { ServerResponse: Answer } = nodeHttp();
  const raw = new Answer(request);
  raw.setHeader('connection', 'close');
  raw.once('finish', () => socket.end());
  raw.assignSocket(socket);
  await write(raw, answer, log);
}
