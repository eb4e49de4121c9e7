import { connect as connectSocket } from 'node:net';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { Clock } from '@holdfast/platform';
import { CsiError } from './csi-error.ts';
import { Controller, Identity, Node } from './generated/csi_pb.js';
import { Registration } from './generated/registration_pb.js';
import { ANSWER_MAX_BYTES, WORK_DEADLINE_MS } from './limits.ts';

export interface CsiClients {
  readonly identity: Client<typeof Identity>;
  readonly controller: Client<typeof Controller>;
  readonly node: Client<typeof Node>;
  readonly registration: Client<typeof Registration>;
}

type Options = { readonly signal: AbortSignal };

/** gRPC over the Unix socket of a plugin. Every call has a deadline, and all of them end with `close`. */
export class CsiConnection {
  readonly #clock: Clock;
  readonly #socket: string;
  readonly #sessions: Http2SessionManager;
  readonly #clients: CsiClients;
  readonly #closed = new AbortController();

  constructor(endpoint: string, clock: Clock) {
    this.#clock = clock;
    this.#socket = socketOf(endpoint);
    // The address is never used.
    const baseUrl = 'http://localhost';
    const createConnection = () => connectSocket(this.#socket);
    this.#sessions = new Http2SessionManager(baseUrl, {}, { createConnection });
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager: this.#sessions,
      readMaxBytes: ANSWER_MAX_BYTES,
    });
    this.#clients = {
      identity: createClient(Identity, transport),
      controller: createClient(Controller, transport),
      node: createClient(Node, transport),
      registration: createClient(Registration, transport),
    };
  }

  /** Rejects with `CsiError`. `stop` ends the call before its deadline. */
  async call<T>(
    work: (clients: CsiClients, options: Options) => Promise<T>,
    deadlineMs: number = WORK_DEADLINE_MS,
    stop: AbortSignal = this.#closed.signal,
  ): Promise<T> {
    if (this.#closed.signal.aborted) throw closedError();
    const ending = new AbortController();
    const timer = this.#clock.timer(deadlineMs, () => ending.abort(new Error('deadline')));
    try {
      return await work(this.#clients, { signal: AbortSignal.any([this.#closed.signal, stop, ending.signal]) });
    } catch (error) {
      if (this.#closed.signal.aborted) throw closedError();
      if (stop.aborted) throw new CsiError('Canceled', `the call to ${this.#socket} was given up`, error);
      if (ending.signal.aborted)
        throw new CsiError('DeadlineExceeded', `${this.#socket} did not answer within ${deadlineMs / 1000} s`, error);
      throw csiError(error, this.#socket);
    } finally {
      timer.cancel();
    }
  }

  close(): void {
    this.#closed.abort(closedError());
    this.#sessions.abort();
  }
}

function csiError(error: unknown, socket: string): CsiError {
  const { code: given, rawMessage } = ConnectError.from(error);
  // gRPC reports it as an internal error of the driver, which then would have refused.
  const code = isConnectionLost(error) || isCutOff(error) ? Code.Unavailable : given;
  const name = Code[code] ?? 'Unknown';
  const message = code === Code.Unavailable ? `no answer at ${socket}: ${rawMessage}` : rawMessage;
  return new CsiError(name, message, error);
}

/** The answer is no whole one: the driver ended while it answered, and has not refused. */
function isCutOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isOfStream = 'code' in error && error.code === 'ERR_HTTP2_STREAM_ERROR';
  const isOfProtocol = error instanceof ConnectError && error.rawMessage.startsWith('protocol error: ');
  return isOfStream || isOfProtocol || isCutOff(error.cause);
}

/** An error of the system in the chain of causes: no socket, nobody behind it, or it was closed. */
function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || isConnectionLost(error.cause);
}

const closedError = (): CsiError => new CsiError('Canceled', 'the connection to the CSI driver is closed');

const socketOf = (endpoint: string): string => endpoint.replace(/^unix:(\/\/)?/, '');
