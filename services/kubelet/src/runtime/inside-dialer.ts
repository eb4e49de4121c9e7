import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Clock, Timer } from '@holdfast/platform';
import { HELPER_ENVIRONMENT, helper } from './helpers.ts';

/** Bounds of connections to the loopback addresses of pods. Units are in the names. */
export const INSIDE_DIAL_DEADLINE_MS = 10_000;
/** A helper without a request ends after this time. Its connections go on. */
export const INSIDE_LINGER_MS = 5_000;
/** Network namespaces that have a helper at the same time. Each helper is a process of about 40 MB. */
export const INSIDE_HELPERS_MAX = 16;
/** Connections of one network namespace that are being opened or are open. */
export const INSIDE_CONNECTIONS_MAX = 500;

export interface InsideDialerDeps {
  readonly clock: Clock;
  /** The command that runs the rest of its line in this network namespace. Tests replace it. */
  readonly enter?: (namespace: string) => readonly string[];
  readonly helpersMax?: number;
  readonly connectionsMax?: number;
}

/**
 * A program that listens only on the loopback address of its pod is reached from inside the network namespace. One
 * helper process for each namespace connects there, and hands the open connection over: its bytes do not pass the helper.
 */
export class InsideDialer {
  readonly #deps: Required<InsideDialerDeps>;
  readonly #helpers = new Map<string, Helper>();
  readonly #connections = new Map<string, number>();

  constructor(deps: InsideDialerDeps) {
    const bounds = { helpersMax: INSIDE_HELPERS_MAX, connectionsMax: INSIDE_CONNECTIONS_MAX };
    this.#deps = { enter: enterNetwork, ...bounds, ...deps };
  }

  /** Rejects at once when the namespace has too many connections. */
  async dial(namespace: string, port: number): Promise<Socket> {
    const release = this.#reserve(namespace);
    try {
      const socket = await this.#helperOf(namespace).dial(port);
      socket.once('close', release);
      return socket;
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): void {
    for (const each of this.#helpers.values()) each.end();
  }

  #reserve(namespace: string): () => void {
    const count = this.#connections.get(namespace) ?? 0;
    if (count >= this.#deps.connectionsMax)
      throw new Error(`the pod has ${count} connections to its loopback address; close some and retry`);
    this.#connections.set(namespace, count + 1);
    return () => {
      const left = (this.#connections.get(namespace) ?? 1) - 1;
      if (left > 0) this.#connections.set(namespace, left);
      else this.#connections.delete(namespace);
    };
  }

  #helperOf(namespace: string): Helper {
    const known = this.#helpers.get(namespace);
    if (known !== undefined) return known;
    const { clock, enter, helpersMax } = this.#deps;
    if (this.#helpers.size >= helpersMax) throw new Error(tooManyPods(helpersMax));
    const made = new Helper(clock, enter(namespace), () => {
      if (this.#helpers.get(namespace) === made) this.#helpers.delete(namespace);
    });
    this.#helpers.set(namespace, made);
    return made;
  }
}

const tooManyPods = (count: number): string =>
  `connections to the loopback addresses of ${count} other pods are being opened; retry in ${INSIDE_LINGER_MS / 1000} s`;

const enterNetwork = (namespace: string): readonly string[] => [helper('nsenter'), `--net=${namespace}`, '--'];

const SMALL = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=0'] as const;

/** Opens connections and sends them to its parent. A connection that is not paused loses the bytes that arrive first. */
const PROGRAM = `
const { connect } = require('node:net');
process.on('disconnect', () => process.exit(0));
process.on('message', ({ id, port, deadlineMs }) => {
  const socket = connect({ host: '127.0.0.1', port });
  socket.pause();
  socket.setTimeout(deadlineMs, () => socket.destroy(new Error('no answer in time')));
  socket.once('error', (error) => process.send({ id, refused: error.message }));
  socket.once('connect', () => {
    socket.setTimeout(0);
    process.send({ id }, socket);
  });
});
`;

interface Answer {
  readonly id: number;
  readonly refused?: string;
}

interface Pending {
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: Error) => void;
}

class Helper {
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #onEnd: () => void;
  #nextId = 1;
  #linger: Timer | undefined;

  constructor(clock: Clock, enter: readonly string[], onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    const [program, ...args] = [...enter, process.execPath, ...SMALL, '-e', PROGRAM];
    this.#child = spawn(program, args, { env: HELPER_ENVIRONMENT, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const ended = (why: string): void => {
      onEnd();
      this.#linger?.cancel();
      this.#failAll(new Error(`cannot enter the network of the pod: ${why}`));
    };
    this.#child.on('error', ({ message }) => ended(message));
    this.#child.on('exit', (code, signal) => ended(`the helper ended (${signal ?? code})`));
    this.#child.on('message', (answer: Answer, handle) =>
      this.#receive(answer, handle instanceof Socket ? handle : undefined),
    );
  }

  dial(port: number): Promise<Socket> {
    this.#linger?.cancel();
    const id = this.#nextId++;
    return new Promise<Socket>((resolve, reject) => {
      const timer = this.#clock.timer(INSIDE_DIAL_DEADLINE_MS, () => this.end());
      const settle = <T>(act: (value: T) => void): ((value: T) => void) => {
        return (value) => {
          timer.cancel();
          this.#pending.delete(id);
          if (this.#pending.size === 0) this.#linger = this.#clock.timer(INSIDE_LINGER_MS, () => this.end());
          act(value);
        };
      };
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      // A failure is followed by the end of the helper.
      this.#child.send({ id, port, deadlineMs: INSIDE_DIAL_DEADLINE_MS / 2 }, () => undefined);
    });
  }

  /** The next connection gets another helper. */
  end(): void {
    this.#onEnd();
    this.#child.kill('SIGKILL');
  }

  #receive({ id, refused }: Answer, socket: Socket | undefined): void {
    const pending = this.#pending.get(id);
    if (socket !== undefined) socket.allowHalfOpen = true;
    if (pending === undefined) socket?.destroy();
    else if (socket === undefined) pending.reject(new Error(refused ?? 'the connection ended at once'));
    else pending.resolve(socket);
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#linger?.cancel();
  }
}
