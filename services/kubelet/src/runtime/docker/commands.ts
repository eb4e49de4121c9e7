import type { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { isCode } from '../engine-errors.ts';
import { type ExecResult, RuntimeError } from '../port.ts';
import { untilEnded } from './container-end.ts';
import { type Engine, part } from './engine.ts';
import type { InspectedContainer, InspectedExec } from './engine-types.ts';
import { type Frame, FrameReader } from './frames.ts';
import {
  CONTAINER_END_LOOKS_MAX,
  EXEC_END_LOOKS_MAX,
  EXEC_END_POLL_MS,
  EXEC_OUTPUT_MAX_BYTES,
  LAST_OUTPUT_MS,
} from './limits.ts';
import { killCommand } from './local-processes.ts';

export interface CommandRequest {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A command that runs beside a container. */
export interface Command {
  readonly id: string;
  readonly containerId: string;
  /** It also ends when the container does: engines may forget the commands of one that ended. */
  readonly socket: Duplex;
}

const KILLED = 137;
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

export class Commands {
  readonly #engine: Engine;
  readonly #clock: Clock;

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  async start(containerId: string, { command, stdin, stdout, stderr, tty }: CommandRequest): Promise<Command> {
    const body = { Cmd: command, AttachStdin: stdin, AttachStdout: stdout, AttachStderr: stderr, Tty: tty };
    const path = `/containers/${part(containerId)}/exec`;
    const { Id: id } = await this.#engine.json<{ Id: string }>({ method: 'POST', path, body });
    const start = { method: 'POST', path: `/exec/${part(id)}/start`, body: { Detach: false, Tty: tty } } as const;
    const socket = await this.#engine.hijack(start);
    // Its end is seen where it is read.
    socket.on('error', () => undefined);
    this.#endWithContainer(containerId, socket);
    return { id, containerId, socket };
  }

  #endWithContainer(containerId: string, socket: Duplex): void {
    const leaving = new AbortController();
    socket.once('close', () => leaving.abort());
    untilEnded(this.#engine, containerId, leaving.signal)
      .then(() => this.#clock.sleep(LAST_OUTPUT_MS, leaving.signal))
      .then(() => socket.destroy())
      .catch(() => undefined);
  }

  /** After the end of its output: rejects when it could not be started. */
  async ended({ id }: Pick<Command, 'id'>, output: () => string): Promise<{ readonly exitCode: number }> {
    for (let look = 1; look <= EXEC_END_LOOKS_MAX; look++) {
      const found = await this.#inspect(id);
      if (found === undefined) return { exitCode: KILLED };
      if (hasEnded(found)) return this.#exitOf(found, output());
      await this.#clock.sleep(EXEC_END_POLL_MS);
    }
    throw new RuntimeError('Unavailable', 'the engine does not report the end of the command');
  }

  /** The connection may be there before the process. */
  async kill({ id, containerId }: Pick<Command, 'id' | 'containerId'>): Promise<void> {
    for (let look = 1; look <= EXEC_END_LOOKS_MAX; look++) {
      const found = await this.#inspect(id);
      if (found === undefined || hasEnded(found)) return;
      if (found.Pid > 0) {
        killCommand(found.Pid, containerId);
        return;
      }
      await this.#clock.sleep(EXEC_END_POLL_MS);
    }
  }

  /** Runs a command to its end and keeps the first part of its output. */
  async run(containerId: string, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    const timer = this.#clock.timer(timeoutMs, () => {
      const message = `command "${command.join(' ')}" timed out after ${timeoutMs / 1000}s`;
      late.reject(new RuntimeError('Timeout', message));
    });
    const started = this.start(containerId, { command, stdin: false, stdout: true, stderr: true, tty: false });
    try {
      const running = await Promise.race([started, late.promise]);
      return await Promise.race([this.#result(running), late.promise]);
    } catch (error) {
      if (isCode(error, 'Timeout')) this.#giveUp(started);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  #giveUp(started: Promise<Command>): void {
    started
      .then(async (command) => {
        command.socket.destroy();
        await this.kill(command);
      })
      .catch(() => undefined);
  }

  async #result(command: Command): Promise<ExecResult> {
    const reader = new FrameReader();
    const kept: Buffer[] = [];
    let room = EXEC_OUTPUT_MAX_BYTES;
    const take = ({ bytes }: Frame): void => {
      if (room > 0) kept.push(Buffer.from(bytes.subarray(0, room)));
      room -= bytes.length;
    };
    try {
      for await (const chunk of command.socket) reader.push(chunk as Buffer).forEach(take);
    } catch (error) {
      if (this.#engine.closed.aborted) throw error;
      // Cut off with the container: what came counts.
    }
    const output = Buffer.concat(kept).toString('utf8');
    return { ...(await this.ended(command, () => output)), output };
  }

  /** One that could not be started has no process, and its output is the reason. */
  async #exitOf({ ExitCode, Pid, ContainerID }: InspectedExec, output: string): Promise<{ readonly exitCode: number }> {
    const exitCode = ExitCode ?? KILLED;
    const isUnstarted = Pid === 0 && (exitCode === NOT_FOUND || exitCode === NOT_EXECUTABLE);
    if (!isUnstarted) return { exitCode };
    // Its container ended just then, and it with the container.
    if (await this.#endsAtOnce(ContainerID)) return { exitCode: KILLED };
    throw new RuntimeError('Internal', output.trim() || 'the command could not be started');
  }

  /** The engine says a moment longer that a container runs whose processes are dead. */
  async #endsAtOnce(containerId: string): Promise<boolean> {
    for (let look = 1; look <= CONTAINER_END_LOOKS_MAX; look++) {
      const { State } = await this.#container(containerId);
      if (!State.Running) return true;
      await this.#clock.sleep(EXEC_END_POLL_MS);
    }
    return false;
  }

  #container(id: string): Promise<Pick<InspectedContainer, 'State'>> {
    return this.#engine.json({ method: 'GET', path: `/containers/${part(id)}/json` });
  }

  async #inspect(id: string): Promise<InspectedExec | undefined> {
    try {
      return await this.#engine.json<InspectedExec>({ method: 'GET', path: `/exec/${part(id)}/json` });
    } catch (error) {
      if (isCode(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}

const hasEnded = ({ Running, ExitCode }: InspectedExec): boolean => !Running && ExitCode !== null;
