import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock, Log, Timer } from '@holdfast/platform';
import { RuntimeError } from '../runtime/port.ts';
import { dialled } from './agent/dialled.ts';
import { REQUEST_LINE_MAX_BYTES } from './agent/limits.ts';
import { LineReader } from './agent/line-reader.ts';
import type { AgentAnswer, AgentRequest, DialLine } from './agent/protocol.ts';
import { launchAgent } from './launch.ts';
import {
  AGENT_DIAL_DEADLINE_MS,
  AGENT_NFT_DEADLINE_MS,
  AGENT_REQUEST_DEADLINE_MS,
  AGENT_START_DEADLINE_MS,
  AGENT_START_POLL_MS,
} from './limits.ts';

export interface AgentConnectionDeps {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** A new connection, before any other request on it. */
  readonly onOpen: (ask: Ask) => Promise<void>;
  /** The agent has ended, or this connection to it. */
  readonly onLost: () => void;
}

export type Ask = (request: AgentRequest) => Promise<unknown>;

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly deadline: Timer;
}

/** The way to the agent inside the network of pods. */
export class AgentConnection {
  readonly #deps: AgentConnectionDeps;
  readonly #pending = new Map<number, Pending>();
  #opening: Promise<Socket> | undefined;
  #nextId = 1;
  #isClosed = false;

  constructor(deps: AgentConnectionDeps) {
    this.#deps = deps;
  }

  get path(): string {
    return join(this.#deps.directory, 'agent.sock');
  }

  /** Starts the agent when there is none. */
  async ask(request: AgentRequest): Promise<unknown> {
    return this.#send(await this.#open(), request);
  }

  /** `undefined`: there is no agent. None is started. */
  async askIfThere(request: AgentRequest): Promise<unknown> {
    if (this.#opening === undefined) {
      const found = await tryConnect(this.path);
      if (found === undefined) return undefined;
      if (this.#opening === undefined) this.#opening = this.#opened(this.#attach(found));
      else found.destroy();
    }
    return this.#send(await this.#opening, request);
  }

  async dial(to: DialLine['dial']): Promise<Socket> {
    await this.#open();
    const socket = connect({ path: this.path, allowHalfOpen: true });
    socket.write(`${JSON.stringify({ dial: to } satisfies DialLine)}\n`);
    const deadline = this.#deps.clock.timer(AGENT_DIAL_DEADLINE_MS, () => {
      socket.destroy(new Error(`the network of pods did not connect to ${to.host}:${to.port} in time`));
    });
    try {
      await dialled(socket);
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      deadline.cancel();
    }
  }

  close(): void {
    this.#isClosed = true;
    void this.#opening?.then(
      (socket) => socket.end(),
      () => undefined,
    );
  }

  #open(): Promise<Socket> {
    if (this.#isClosed) return Promise.reject(new RuntimeError('Unavailable', 'the network of pods is closed'));
    this.#opening ??= this.#opened(this.#connectOrLaunch());
    return this.#opening;
  }

  /** After a failure the next request tries again. */
  async #opened(opening: Promise<Socket>): Promise<Socket> {
    try {
      return await opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async #connectOrLaunch(): Promise<Socket> {
    const { clock, directory } = this.#deps;
    const found = await tryConnect(this.path);
    if (found !== undefined) return this.#attach(found);
    launchAgent(directory);
    const giveUpAt = clock.monotonic() + AGENT_START_DEADLINE_MS;
    while (clock.monotonic() < giveUpAt) {
      await clock.sleep(AGENT_START_POLL_MS);
      const socket = await tryConnect(this.path);
      if (socket !== undefined) return this.#attach(socket);
    }
    throw new RuntimeError('Unavailable', `the network of pods did not start; see agent.log in ${directory}`);
  }

  async #attach(socket: Socket): Promise<Socket> {
    const reader = new LineReader(REQUEST_LINE_MAX_BYTES);
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of reader.lines(chunk)) this.#receive(decode<AgentAnswer>(line));
      } catch (error) {
        socket.destroy(new Error('the answer of the network of pods cannot be read', { cause: error }));
      }
    });
    // 'close' follows and fails what is pending.
    socket.on('error', (error) => this.#deps.log.warn('connection to the network of pods broke', { error }));
    const lost = (): void => this.#lost();
    socket.on('close', lost);
    try {
      await this.#deps.onOpen((request) => this.#send(socket, request));
      return socket;
    } catch (error) {
      // Its end must not be taken for that of the next connection.
      socket.off('close', lost);
      socket.destroy();
      throw error;
    }
  }

  #send(socket: Socket, request: AgentRequest): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const deadlineMs = request.method === 'nft' ? AGENT_NFT_DEADLINE_MS : AGENT_REQUEST_DEADLINE_MS;
      const deadline = this.#deps.clock.timer(deadlineMs, () => {
        this.#pending.delete(id);
        reject(new RuntimeError('Unavailable', `the network of pods did not answer ${request.method} in time`));
      });
      this.#pending.set(id, { resolve, reject, deadline });
      socket.write(`${JSON.stringify({ ...request, id })}\n`);
    });
  }

  #receive(line: AgentAnswer): void {
    const pending = this.#pending.get(line.id);
    if (pending === undefined) return;
    this.#pending.delete(line.id);
    pending.deadline.cancel();
    if ('error' in line) pending.reject(new RuntimeError('Internal', line.error));
    else pending.resolve(line.result);
  }

  #lost(): void {
    this.#opening = undefined;
    for (const pending of this.#pending.values()) {
      pending.deadline.cancel();
      pending.reject(new RuntimeError('Unavailable', 'the network of pods ended before it answered'));
    }
    this.#pending.clear();
    if (!this.#isClosed) this.#deps.onLost();
  }
}

/** The other end is our own program. */
const decode = <T>(text: string): T => JSON.parse(text) as T;

/** Resolves with `undefined` when nothing listens there. */
function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const refuse = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined);
      else reject(new RuntimeError('Unavailable', `cannot reach the network of pods: ${error.message}`, error));
    };
    socket.on('error', refuse);
    socket.once('connect', () => resolve(socket));
  });
}
