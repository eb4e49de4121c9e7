import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import { badRequest, StatusError } from '@holdfast/machinery/status';
import type { Clock } from '@holdfast/platform/clock';
import { describeError } from '@holdfast/platform/errors';
import type { Ids } from '@holdfast/platform/ids';
import { InvariantViolation, invariant } from '@holdfast/platform/invariant';
import type { Log } from '@holdfast/platform/log';
import type { TlsPair } from '@holdfast/platform/pair-watch';
import { fastify } from 'fastify';
import { methodNotAllowed } from '../http/refusals.ts';
import { HEADERS_MAX, HTTP1_UNANSWERED_MAX, HTTP2_STREAMS_MAX } from '../limits.ts';
import { auditIdOf } from './audit-id.ts';
import { ClientAnswer } from './client-answer.ts';
import { clientCertificate } from './client-certificate.ts';
import { refuseConnection } from './client-error.ts';
import { takesGzip } from './compression.ts';
import { type ConnectionLimits, guardConnections } from './connection-guard.ts';
import { closeAfterReading } from './lingering-close.ts';
import { Pipelines } from './pipelining-guard.ts';
import { type BodyLimits, type BodyReceiver, createBodyReceiver } from './receive-body.ts';
import type { Asked, Asker, Question } from './remote-pipeline.ts';
import { plainHeaders, refusalOfHeaders } from './sent-headers.ts';
import { answerStatus } from './status-answer.ts';
import { contextOptions, type TlsTexts, useForNewConnections } from './tls-options.ts';
import { UnreadAnswers } from './unread-answers.ts';
import { serveUpgrades } from './upgrades.ts';

export interface HttpsListenerDeps {
  /** Hands a request on; the answer comes to the asker. */
  readonly ask: (asked: Asked, asker: Asker) => Question;
  readonly log: Log;
  readonly host: string;
  readonly port: number;
  readonly tls: TlsTexts;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly limits: HttpsLimits;
}

export interface HttpsLimits extends ConnectionLimits, BodyLimits {
  /** An answer whose client takes nothing for this long is cut off. */
  readonly writeStallMs: number;
}

export interface HttpsListener {
  /** Rejects with the machine's error. */
  listen(): Promise<{ readonly host: string; readonly port: number }>;
  /** Another certificate of this server, for new connections. Only after `listen`. */
  renew(pair: TlsPair): void;
  /** Resolves when every answer was sent. */
  close(): Promise<void>;
}

/** HTTPS in front of the request pipeline: HTTP/2 and HTTP/1.1 on one port. No decision is made here. */
export function createHttpsListener(deps: HttpsListenerDeps): HttpsListener {
  const { clock, limits } = deps;
  const unread = new UnreadAnswers(clock, limits.writeStallMs);
  const serving: Serving = { ...deps, unread, bodies: createBodyReceiver(clock, limits) };
  const server = createFastify(serving);
  const guard = guardConnections(server.server, clock, limits);
  server.all('/*', (request, reply) => serve(serving, request, reply));
  const upgrades = serveUpgrades(server.server, {
    ask: (raw, body, asker) => deps.ask(askedBy(raw, body, clock), asker),
    bodies: serving.bodies,
    clock,
    answer: (raw) =>
      new ClientAnswer(raw, {
        headOnly: false,
        auditId: auditIdOf(raw.req, deps.ids),
        stallMs: limits.writeStallMs,
        clock,
        unread,
        onAnswer: NOTHING_TO_DO,
      }),
  });
  return {
    listen: async () => {
      await server.listen({ host: deps.host, port: deps.port });
      const [first] = server.addresses();
      invariant(typeof first === 'object', 'the address of a server is known only after its start');
      return { host: first.address, port: first.port };
    },
    renew: (pair) => useForNewConnections(server, { ...deps.tls, ...pair }),
    close: async () => {
      guard.stop();
      upgrades.stop();
      await server.close();
      unread.stop();
    },
  };
}

const NOTHING_TO_DO = (): void => {};

/** The used parts of a request and a reply for both HTTP versions. */
interface Request {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly raw: IncomingMessage | Http2ServerRequest;
}

interface Reply {
  readonly raw: ServerResponse | Http2ServerResponse;
  hijack(): unknown;
}

interface Serving extends HttpsListenerDeps {
  readonly bodies: BodyReceiver;
  readonly unread: UnreadAnswers;
}

function createFastify(serving: Serving) {
  const { limits, bodies, tls } = serving;
  const refuse = (error: unknown, reply: Reply): void => {
    const status =
      error instanceof StatusError
        ? error
        : isUnknownMethod(error)
          ? methodNotAllowed()
          : badRequest(describeError(error));
    reply.hijack();
    writeRefusal(reply.raw, status, serving);
  };
  const server = fastify({
    http2: true,
    https: {
      allowHTTP1: true,
      ...contextOptions(tls),
      // Node sets this for HTTP/2 and for plain HTTP/1.1 servers, not for HTTP/1.1 beside HTTP/2: a watch event must not wait for the last one's receipt.
      noDelay: true,
      handshakeTimeout: limits.handshakeTimeoutMs,
      settings: { maxConcurrentStreams: HTTP2_STREAMS_MAX },
      maxHeaderListPairs: HEADERS_MAX,
      ...(tls.clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: false }),
    },
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    logger: false,
    routerOptions: { maxParamLength: 4_096 },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: (error: ClientError, socket: Duplex) => refuseConnection(error, socket, serving),
    frameworkErrors: (error, _request, reply) => refuse(error, reply),
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request: Request, payload: Readable) =>
    bodies.receive(payload, lengthOf(request.headers['content-length'])),
  );
  const pipelines = new Pipelines(HTTP1_UNANSWERED_MAX);
  server.addHook('onRequest', ({ raw }, reply: Reply, done) => {
    if (!('stream' in reply.raw) && !pipelines.takes(raw.socket, reply.raw)) return void reply.hijack();
    nameBody(raw);
    done(refusalOfHeaders(raw));
  });
  server.setErrorHandler((error, _request, reply) => refuse(error, reply));
  server.setNotFoundHandler((_request, reply) => refuse(methodNotAllowed(), reply));
  return server;
}

/** For HTTP/2; over HTTP/1.1 Node rejects unknown methods itself. */
const isUnknownMethod = (error: unknown): boolean =>
  error instanceof Error && Reflect.get(error, 'code') === 'FST_ERR_NOT_FOUND';

/**
 * The pipeline validates bodies and writes responses. By default, Fastify would load two schema compilers at its start.
 */
const noSchemas = (): never => {
  throw new InvariantViolation('routes have no schemas');
};

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/** HTTP/2 bodies may come without a length. Without a type as well, Fastify would take such a request for one without a body. */
function nameBody(raw: IncomingMessage | Http2ServerRequest): void {
  const type = raw.headers['content-type'];
  // Otherwise an invalid media type would be refused before the list of accepted ones is known.
  if (type === '') delete raw.headers['content-type'];
  else if (type !== undefined && !MEDIA_TYPE.test(type)) raw.headers['content-type'] = 'application/octet-stream';
  if (raw.headers['content-type'] !== undefined || !('stream' in raw) || raw.stream.endAfterHeaders) return;
  raw.headers['content-type'] = 'application/json';
}

interface ClientError extends Error {
  readonly code: string;
}

const lengthOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;

/** The client may still be sending a body that nobody reads: it must stop after the response. */
function writeRefusal(raw: Reply['raw'], status: StatusError, { clock, ids, limits, unread }: Serving): void {
  if (!('stream' in raw)) {
    raw.setHeader('connection', 'close');
    if (raw.socket !== null) closeAfterReading(raw.socket, clock);
  }
  const answer = new ClientAnswer(raw, {
    headOnly: false,
    auditId: auditIdOf(raw.req, ids),
    stallMs: limits.writeStallMs,
    clock,
    unread,
    onAnswer: NOTHING_TO_DO,
  });
  answerStatus(answer, status);
  if ('stream' in raw) raw.stream?.close(constants.NGHTTP2_NO_ERROR);
}

function serve({ ask, bodies, clock, ids, limits, unread }: Serving, request: Request, reply: Reply): void {
  const { raw, method } = request;
  const body = Buffer.isBuffer(request.body) ? request.body : undefined;
  reply.hijack();
  const onAnswer = body === undefined ? NOTHING_TO_DO : () => bodies.release(body);
  const answer = new ClientAnswer(reply.raw, {
    headOnly: method === 'HEAD',
    gzip: takesGzip(raw.headers['accept-encoding']),
    auditId: auditIdOf(raw, ids),
    stallMs: limits.writeStallMs,
    clock,
    unread,
    onAnswer,
  });
  answer.asks(ask(askedBy(raw, body, clock), answer));
}

const askedBy = (raw: IncomingMessage | Http2ServerRequest, body: Buffer | undefined, clock: Clock): Asked => ({
  method: raw.method ?? '',
  url: raw.url ?? '/',
  headers: plainHeaders(raw),
  body,
  remoteAddress: raw.socket.remoteAddress ?? '',
  clientCertificate: clientCertificate(raw, clock),
});
