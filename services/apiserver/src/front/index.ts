import type { Worker } from 'node:worker_threads';
import type { ApiHandler } from '@holdfast/client';
import {
  type Clock,
  createSystemClock,
  describeError,
  invariant,
  type Log,
  OperatorError,
  type Service,
} from '@holdfast/platform';
import type { TlsPair } from '@holdfast/platform/pair-watch';
import { startThread } from '@holdfast/platform/thread';
import {
  BODY_BYTES_IN_FLIGHT_MAX,
  CONNECTION_IDLE_MS,
  CONNECTIONS_MAX,
  FRONT_START_MS,
  FRONT_STOP_MS,
  FRONT_THREAD_SEMI_SPACE_MB,
  FRONT_THREAD_YOUNG_MB,
  REQUEST_BODY_BYTES_MAX,
  REQUEST_RECEIVE_TIMEOUT_MS,
  TLS_HANDSHAKE_TIMEOUT_MS,
  WATCH_WRITE_STALL_MS,
} from '../limits.ts';
import { AnswersUnderWay } from '../turns/answers-under-way.ts';
import { Answering } from './answering.ts';
import type { HttpsLimits } from './https-listener.ts';
import type { Batch, FrontFigures, FrontMessage, PipelineMessage } from './messages.ts';
import { carried, Outbox } from './outbox.ts';
import type { FrontSetup } from './thread-main.ts';
import type { TlsTexts } from './tls-options.ts';

export { AnswersUnderWay } from '../turns/answers-under-way.ts';
export type { HttpsLimits } from './https-listener.ts';

export interface HttpsServerDeps {
  readonly handle: ApiHandler;
  readonly log: Log;
  readonly host: string;
  /** 0 takes a free port; see `address()`. */
  readonly port: number;
  readonly tls: TlsTexts;
  readonly limits?: Partial<HttpsLimits>;
  /** The pipeline's pending answers; it begins nothing while there are many. */
  readonly answers?: AnswersUnderWay;
}

export const STANDARD_LIMITS: HttpsLimits = {
  receiveTimeoutMs: REQUEST_RECEIVE_TIMEOUT_MS,
  handshakeTimeoutMs: TLS_HANDSHAKE_TIMEOUT_MS,
  idleTimeoutMs: CONNECTION_IDLE_MS,
  connectionsMax: CONNECTIONS_MAX,
  bodyBytesMax: REQUEST_BODY_BYTES_MAX,
  bodyBytesInFlightMax: BODY_BYTES_IN_FLIGHT_MAX,
  writeStallMs: WATCH_WRITE_STALL_MS,
};

export interface HttpsServer extends Service {
  /** The listen address, once started. */
  readonly address: () => { readonly host: string; readonly port: number };
  /** Another certificate of this server, for new connections. It can be served. */
  readonly renew: (pair: TlsPair) => void;
  /** The resource usage of clients. */
  readonly measure: () => Promise<FrontFigures>;
}

/**
 * HTTPS in front of the request pipeline, on a thread of its own: half of what a request costs is TLS, HTTP and system calls,
 * and the pipeline needs its thread for itself. The thread loads while the rest of the process does.
 */
export function createHttpsServer(deps: HttpsServerDeps): HttpsServer {
  // Connections are never simulated.
  const front = new Front(deps, createSystemClock());
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    name: 'apiserver-https',
    start: () => (started ??= front.listen()),
    stop: () => (stopped ??= front.stop()),
    address: () => front.address(),
    renew: (pair) => front.renew(pair),
    measure: () => front.measure(),
  };
}

type Control = Extract<FrontMessage, { readonly kind: 'listening' | 'not-listening' | 'stopped' | 'figures' }>;

class Front {
  readonly #deps: HttpsServerDeps;
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #outbox: Outbox<PipelineMessage>;
  readonly #answering: Answering;
  readonly #waiting = new Set<(message: Control) => void>();
  #address: { readonly host: string; readonly port: number } | undefined;
  #isStopping = false;
  #hasFailed = false;

  constructor(deps: HttpsServerDeps, clock: Clock) {
    const { handle, log, host, port, tls, limits, answers = new AnswersUnderWay() } = deps;
    this.#deps = deps;
    this.#clock = clock;
    const setup: FrontSetup = { host, port, tls, limits: { ...STANDARD_LIMITS, ...limits } };
    this.#worker = startThread(new URL('./thread-main.ts', import.meta.url), {
      data: setup,
      resourceLimits: { maxYoungGenerationSizeMb: FRONT_THREAD_YOUNG_MB },
      semiSpaceMb: FRONT_THREAD_SEMI_SPACE_MB,
    });
    // A composition that fails before it is started leaves nothing that keeps the process alive.
    this.#worker.unref();
    this.#outbox = new Outbox((batch, moved) => this.#worker.postMessage(batch, moved));
    this.#answering = new Answering({ handle, outbox: this.#outbox, log, clock, answers });
    this.#worker.on('message', (batch: Batch<FrontMessage>) => this.#receive(batch));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.once('exit', (code) => this.#fail(new Error(`it ended with ${code}`)));
  }

  async listen(): Promise<void> {
    this.#worker.ref();
    const message = await this.#ask('listen', FRONT_START_MS);
    if (message.kind === 'listening') {
      this.#address = { host: message.host, port: message.port };
      return;
    }
    const { host, port } = this.#deps;
    const why = message.kind === 'not-listening' ? message.why : 'it was stopped';
    throw notListening({ host, port, why });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#answering.stop();
    await this.#ask('stop', FRONT_STOP_MS).catch(() => {});
    await this.#worker.terminate();
  }

  address(): { readonly host: string; readonly port: number } {
    invariant(this.#address !== undefined, 'the address of a server is known only after its start');
    return this.#address;
  }

  renew(pair: TlsPair): void {
    this.#outbox.push({ kind: 'renew', pair });
  }

  async measure(): Promise<FrontFigures> {
    const message = await this.#ask('measure', FRONT_START_MS);
    invariant(message.kind === 'figures', 'the front answers the request that was sent');
    return { bytes: message.bytes, connections: message.connections };
  }

  /** One request at a time. */
  #ask(wish: 'listen' | 'stop' | 'measure', deadlineMs: number): Promise<Control> {
    const { promise, resolve, reject } = Promise.withResolvers<Control>();
    const late = (): void => reject(silence(wish));
    const timer = this.#clock.timer(deadlineMs, late);
    this.#waiting.add(resolve);
    this.#outbox.push({ kind: wish });
    return promise.finally(() => {
      timer.cancel();
      this.#waiting.delete(resolve);
    });
  }

  #receive({ messages, bytes }: Batch<FrontMessage>): void {
    for (const message of messages) {
      if (message.kind === 'log') this.#deps.log[message.level](message.message, message.fields);
      else if ('id' in message || message.kind === 'written') this.#answering.receive(message, carried(message, bytes));
      else for (const resolve of this.#waiting) resolve(message);
    }
  }

  /** The server cannot work without it: the process ends, and its supervisor restarts it. */
  #fail(error: Error): void {
    this.#answering.abandon();
    if (this.#isStopping || this.#hasFailed) return;
    this.#hasFailed = true;
    this.#deps.log.error('the thread of the HTTPS server has failed', { stack: error.stack });
    throw new OperatorError({
      code: 'HttpsThreadFailed',
      message: `The thread of the HTTPS server has failed: ${describeError(error)}`,
      nextStep: 'Start it again. If it fails again, report the error that precedes this one in the log.',
      exitCode: 70,
      cause: error,
    });
  }
}

export const notListening = ({ host, port, why }: { host: string; port: number; why: string }): OperatorError =>
  new OperatorError({
    code: 'LISTEN',
    message: `The API cannot listen on ${host}:${port}: ${why}.`,
    nextStep: adviceOn(why),
  });

const silence = (wish: string): OperatorError =>
  new OperatorError({
    code: 'HttpsThreadSilent',
    message: `The thread of the HTTPS server did not answer "${wish}" in time.`,
    nextStep: 'Start it again when the machine is less busy.',
  });

/** By Node's error text. */
function adviceOn(why: string): string {
  if (/EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN/.test(why)) return 'Give an address of this machine as --host.';
  if (/EACCES/.test(why)) return 'Choose a port above 1023, or start it as a user who may listen on this one.';
  if (/EADDRINUSE/.test(why))
    return 'Another program has it, perhaps another Holdfast. Free the port or choose another one with --port.';
  return 'Free the port or choose another one with --port.';
}
