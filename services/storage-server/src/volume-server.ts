import { createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { type Clock, describeError, type Log, OperatorError, type Service } from '@holdfast/platform';
import type { TlsPair } from '@holdfast/platform/pair-watch';
import { BadRequest, RequestReader } from './domain/requests.ts';
import { FailureLog } from './failure-log.ts';
import { StaleToken } from './fenced-volume.ts';
import { IDLE_MS, OPEN_MS } from './limits.ts';
import type { StorageMetrics } from './metrics.ts';
import { Session, type SessionAnswer } from './session.ts';
import { Refusal, type Volumes } from './volumes.ts';

export interface VolumeServerDeps {
  readonly host: string;
  readonly port: number;
  /** PEM texts. Absent: connections are not encrypted. */
  readonly tls?: TlsPair | undefined;
  readonly connectionsMax: number;
  readonly volumeBytesMax: number;
  readonly volumes: Volumes;
  readonly metrics: () => StorageMetrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** Serves volumes to writers that show a proof. Answers each connection in the order of its requests. */
export class VolumeServer implements Service {
  readonly name = 'volume server';
  readonly #deps: VolumeServerDeps;
  readonly #sockets = new Set<Socket>();
  /** Below TLS, when there is TLS: those in a handshake, too. */
  readonly #transports = new Set<Socket>();
  readonly #failures: FailureLog;
  #server: Server | undefined;

  constructor(deps: VolumeServerDeps) {
    this.#deps = deps;
    this.#failures = new FailureLog(deps);
  }

  /** Known once the server listens. */
  port(): number {
    const bound = this.#server?.address();
    return typeof bound === 'object' && bound !== null ? bound.port : this.#deps.port;
  }

  connections(): number {
    return this.#sockets.size;
  }

  async start(): Promise<void> {
    const { host, port, tls, connectionsMax, log } = this.#deps;
    const serve = (socket: Socket): void => void this.#serve(socket);
    const server =
      tls === undefined
        ? createPlainServer(serve)
        : createTlsServer({ ...contextOf(tls), handshakeTimeout: OPEN_MS }, serve);
    this.#server = server;
    server.maxConnections = connectionsMax;
    server.on('connection', (socket) => this.#follow(socket));
    if (tls !== undefined) server.on('tlsClientError', (error) => log.debug('a TLS handshake failed', { error }));
    const listening = Promise.withResolvers<void>();
    server.on('error', (error) => listening.reject(notListening(host, port, error)));
    server.listen(port, host, listening.resolve);
    await listening.promise;
  }

  /** Another certificate, for new connections of a server that has one. */
  renew(pair: TlsPair): void {
    if (this.#server instanceof TlsServer) this.#server.setSecureContext(contextOf(pair));
  }

  /** Requests that have begun end; their clients may not hear of it. */
  async stop(): Promise<void> {
    for (const socket of this.#transports) socket.destroy();
    const closed = Promise.withResolvers<void>();
    if (this.#server?.listening === true) this.#server.close(() => closed.resolve());
    else closed.resolve();
    await closed.promise;
    await this.#deps.volumes.idle();
  }

  #follow(socket: Socket): void {
    this.#transports.add(socket);
    socket.once('close', () => this.#transports.delete(socket));
  }

  async #serve(socket: Socket): Promise<void> {
    const { clock, volumes, volumeBytesMax, log } = this.#deps;
    this.#sockets.add(socket);
    const session = new Session(volumes, volumeBytesMax);
    const opening = clock.timer(OPEN_MS, () => {
      if (!session.isOpen()) socket.destroy();
    });
    // Also ends connections of clients that do not read their answers.
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    try {
      await this.#converse(socket, session);
    } catch (error) {
      log.debug('a connection ended', { error: describeError(error) });
    } finally {
      opening.cancel();
      this.#sockets.delete(socket);
      socket.destroy();
    }
  }

  /** Reads on only after the answer has left: a client that does not read holds one answer. */
  async #converse(socket: Socket, session: Session): Promise<void> {
    const reader = new RequestReader();
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      reader.push(chunk);
      for (;;) {
        const { answer, isLast } = await this.#step(reader, session);
        if (answer === undefined) break;
        if (session.isOpen()) reader.opened();
        await send(socket, answer);
        if (isLast) return;
      }
    }
  }

  async #step(
    reader: RequestReader,
    session: Session,
  ): Promise<{ readonly answer: SessionAnswer | undefined; readonly isLast: boolean }> {
    const metrics = this.#deps.metrics();
    let operation = 'unknown';
    try {
      const request = reader.next();
      if (request === undefined) return { answer: undefined, isLast: false };
      operation = request.kind;
      const answer = await session.answer(request);
      metrics.answered(operation, 'ok');
      if (request.kind === 'write') metrics.moved('written', request.bytes.length);
      if (answer.payload !== undefined) metrics.moved('read', answer.payload.length);
      return { answer, isLast: false };
    } catch (error) {
      const { code, text } = this.#explain(operation, error);
      metrics.answered(operation, code);
      return { answer: { line: `error ${code} ${text}` }, isLast: code === 'bad' || !session.isOpen() };
    }
  }

  /** Clients learn why they are refused; the causes of failures are for the log. */
  #explain(operation: string, error: unknown): { readonly code: string; readonly text: string } {
    if (error instanceof BadRequest) return { code: 'bad', text: error.message };
    if (error instanceof Refusal) return { code: error.code, text: error.message };
    if (error instanceof StaleToken) {
      const log = error.isFirst ? 'warn' : 'debug';
      this.#deps.log[log]('a writer of an earlier attachment was refused', { operation, why: error.message });
      return { code: 'stale', text: error.message };
    }
    this.#failures.report(operation, error);
    return { code: 'failed', text: 'the storage server could not do this; its log says why' };
  }
}

const contextOf = ({ certificate, key }: TlsPair) => ({ cert: certificate, key, minVersion: 'TLSv1.2' as const });

function send(socket: Socket, { line, payload }: SessionAnswer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent = (error?: Error | null): void => (error ? reject(error) : resolve());
  const head = Buffer.from(`${line}\n`);
  socket.once('close', resolve);
  socket.write(payload === undefined ? head : Buffer.concat([head, payload]), (error) => {
    socket.off('close', resolve);
    sent(error);
  });
  return promise;
}

const notListening = (host: string, port: number, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'ListenAddress',
    message: `the address ${host}:${port} of the storage server cannot be served: ${describeError(cause)}`,
    nextStep: 'Give an address of this machine (--host) and a free port (--port).',
    cause,
  });
