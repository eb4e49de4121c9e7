import { connect, type Socket } from 'node:net';
import type { Clock, Log, Timer } from '@holdfast/platform';
import { RuntimeError } from '../port.ts';
import { ASK_ATTEMPTS_MAX, LINE_MAX_BYTES, SUPERVISOR_START_DEADLINE_MS, SUPERVISOR_START_POLL_MS } from './limits.ts';
import { createLineReader, encodeLine, type Request, type RequestResult, type SupervisorLine } from './protocol.ts';
import { socketPath } from './socket-path.ts';
import { launchProgram } from './supervisor-launch.ts';

export interface SupervisorConnection {
  /** Starts the supervisor when none answers. */
  ask(request: Request, deadlineMs: number): Promise<RequestResult>;
  isOpen(): boolean;
  isClosed(): boolean;
  close(): Promise<void>;
}

export interface SupervisorConnectionDeps {
  readonly stateDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange: (podUid: string) => void;
  /** Changes were missed from here on, until the next request. */
  readonly onLost: () => void;
}

interface Pending {
  resolve(result: RequestResult): void;
  reject(error: RuntimeError): void;
  readonly deadline: Timer;
}

export function createSupervisorConnection(deps: SupervisorConnectionDeps): SupervisorConnection {
  return new Connection(deps);
}

class SupervisorLost extends RuntimeError {}

class Connection implements SupervisorConnection {
  readonly #deps: SupervisorConnectionDeps;
  readonly #pending = new Map<number, Pending>();
  #socket: Socket | undefined;
  #opening: Promise<Socket> | undefined;
  #nextId = 1;
  #closed = false;

  constructor(deps: SupervisorConnectionDeps) {
    this.#deps = deps;
  }

  isOpen(): boolean {
    return this.#socket !== undefined;
  }

  isClosed(): boolean {
    return this.#closed;
  }

  /**
   * A supervisor that exits between two requests, or is killed during one, is replaced and the request repeated:
   * requests are idempotent. Commands inside a container are not, and are not repeated.
   */
  async ask(request: Request, deadlineMs: number): Promise<RequestResult> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#askOnce(request, deadlineMs);
      } catch (error) {
        const isFinal = this.#closed || request.method === 'exec' || attempt === ASK_ATTEMPTS_MAX;
        if (!(error instanceof SupervisorLost) || isFinal) throw error;
      }
      // A dying supervisor may accept a connection and lose it immediately.
      await this.#deps.clock.sleep(SUPERVISOR_START_POLL_MS);
    }
  }

  async #askOnce(request: Request, deadlineMs: number): Promise<RequestResult> {
    const socket = await this.#open();
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const deadline = this.#deps.clock.timer(deadlineMs, () => {
        this.#pending.delete(id);
        reject(new RuntimeError('Unavailable', `the supervisor did not answer ${request.method} in ${deadlineMs} ms`));
      });
      this.#pending.set(id, { resolve, reject, deadline });
      socket.write(encodeLine({ ...request, id }));
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      socket.once('close', () => resolve());
      socket.end();
    });
  }

  #open(): Promise<Socket> {
    if (this.#closed) return Promise.reject(new RuntimeError('Unavailable', 'the runtime client is closed'));
    if (this.#socket !== undefined) return Promise.resolve(this.#socket);
    this.#opening ??= this.#connectOrLaunch().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #connectOrLaunch(): Promise<Socket> {
    const path = socketPath(this.#deps.stateDirectory);
    const found = await tryConnect(path);
    if (found !== undefined) return this.#attach(found);
    launchProgram(this.#deps.stateDirectory, 'supervisor');
    const giveUpAt = this.#deps.clock.monotonic() + SUPERVISOR_START_DEADLINE_MS;
    while (this.#deps.clock.monotonic() < giveUpAt) {
      await this.#deps.clock.sleep(SUPERVISOR_START_POLL_MS);
      const socket = await tryConnect(path);
      if (socket !== undefined) return this.#attach(socket);
    }
    throw new RuntimeError(
      'Unavailable',
      `the supervisor did not start in ${SUPERVISOR_START_DEADLINE_MS} ms; see supervisor.log in ${this.#deps.stateDirectory}`,
    );
  }

  #attach(socket: Socket): Socket {
    this.#socket = socket;
    socket.setEncoding('utf8');
    const reader = createLineReader<SupervisorLine>(LINE_MAX_BYTES, (line) => this.#receive(line));
    socket.on('data', (chunk: string) => reader.push(chunk));
    // 'close' follows and fails what is pending.
    socket.on('error', (error) => this.#deps.log.warn('connection to the supervisor broke', { error }));
    socket.on('close', () => this.#lost(socket));
    return socket;
  }

  #receive(line: SupervisorLine): void {
    if ('changed' in line) {
      this.#deps.onChange(line.changed);
      return;
    }
    const pending = this.#pending.get(line.id);
    // Its deadline has passed: the caller already got an unknown outcome.
    if (pending === undefined) return;
    this.#pending.delete(line.id);
    pending.deadline.cancel();
    if ('error' in line) pending.reject(new RuntimeError(line.error.code, line.error.message));
    else pending.resolve(line.result);
  }

  #lost(socket: Socket): void {
    if (this.#socket === socket) this.#socket = undefined;
    for (const pending of this.#pending.values()) {
      pending.deadline.cancel();
      pending.reject(new SupervisorLost('Unavailable', 'the supervisor went away before it answered'));
    }
    this.#pending.clear();
    if (!this.#closed) this.#deps.onLost();
  }
}

/** Resolves with `undefined` when nothing listens there. */
function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const refuse = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined);
      else reject(new RuntimeError('Unavailable', `cannot reach the supervisor at ${path}: ${error.message}`, error));
    };
    socket.on('error', refuse);
    socket.once('connect', () => {
      resolve(socket);
    });
  });
}
