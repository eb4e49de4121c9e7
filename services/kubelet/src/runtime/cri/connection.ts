import { connect as connectSocket } from 'node:net';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { type Clock, describeError } from '@holdfast/platform';
import { closedError, socketPath } from '../engine-errors.ts';
import { RuntimeError, type RuntimeErrorCode } from '../port.ts';
import { ImageService, RuntimeService } from './generated/cri_pb.js';

export interface CriClients {
  readonly runtime: Client<typeof RuntimeService>;
  readonly images: Client<typeof ImageService>;
}

export interface CallLimits {
  readonly deadlineMs: number;
  /** The error code of a missed deadline. Default: `Unavailable`. */
  readonly onDeadline?: RuntimeErrorCode;
  readonly signal?: AbortSignal;
}

type Options = { readonly signal: AbortSignal };

/** gRPC over a Unix socket. Every call has a deadline, and all of them end with `close`. */
export class CriConnection {
  readonly #clock: Clock;
  readonly #socket: string;
  readonly #sessions: Http2SessionManager;
  readonly #clients: CriClients;
  readonly #closed = new AbortController();

  constructor(endpoint: string, clock: Clock) {
    this.#clock = clock;
    this.#socket = socketPath(endpoint, { what: 'a container runtime', example: '/path/to/socket' });
    // The address is never used: runtimes refuse any other authority on a Unix socket.
    const baseUrl = 'http://localhost';
    const createConnection = () => connectSocket(this.#socket);
    this.#sessions = new Http2SessionManager(baseUrl, {}, { createConnection });
    const transport = createGrpcTransport({ baseUrl, sessionManager: this.#sessions });
    this.#clients = { runtime: createClient(RuntimeService, transport), images: createClient(ImageService, transport) };
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  async call<T>(limits: CallLimits, work: (clients: CriClients, options: Options) => Promise<T>): Promise<T> {
    if (this.closed.aborted) throw closedError();
    const ending = new AbortController();
    const timer = this.#clock.timer(limits.deadlineMs, () => ending.abort(new Error('deadline')));
    const signals = [this.closed, ending.signal, ...(limits.signal === undefined ? [] : [limits.signal])];
    try {
      return await work(this.#clients, { signal: AbortSignal.any(signals) });
    } catch (error) {
      if (this.closed.aborted) throw closedError();
      if (ending.signal.aborted) {
        const message = `${this.#socket} did not answer within ${limits.deadlineMs / 1000} s`;
        throw new RuntimeError(limits.onDeadline ?? 'Unavailable', message, error);
      }
      throw this.#runtimeError(error);
    } finally {
      timer.cancel();
    }
  }

  /** Events of the runtime until the signal or the end of the connection. */
  listen(signal: AbortSignal): ReturnType<CriClients['runtime']['getContainerEvents']> {
    return this.#clients.runtime.getContainerEvents({}, { signal: AbortSignal.any([this.closed, signal]) });
  }

  close(): void {
    this.#closed.abort(closedError());
    this.#sessions.abort();
  }

  #runtimeError(error: unknown): RuntimeError {
    if (error instanceof RuntimeError) return error;
    const { code, rawMessage } = ConnectError.from(error);
    const known = CODES[code] ?? 'Internal';
    const message = known === 'Unavailable' ? `no answer at ${this.#socket}: ${rawMessage}` : rawMessage;
    return new RuntimeError(known, message, error);
  }
}

const CODES: Readonly<Partial<Record<Code, RuntimeErrorCode>>> = {
  [Code.NotFound]: 'NotFound',
  [Code.Unavailable]: 'Unavailable',
  [Code.Aborted]: 'Unavailable',
  [Code.FailedPrecondition]: 'IllegalState',
  [Code.Unimplemented]: 'Unsupported',
  [Code.DeadlineExceeded]: 'Timeout',
};

/** The text for the message of another error. */
export const textOf = (error: unknown): string =>
  error instanceof RuntimeError ? error.message : describeError(error);
