import { type Duplex, PassThrough, Writable } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import type { InsideDialer } from '../inside-dialer.ts';
import {
  type AttachRequest,
  type ExecStreamRequest,
  type ProcessStreams,
  RuntimeError,
  type RuntimeStreams,
  type TerminalSize,
} from '../port.ts';
import type { Commands } from './commands.ts';
import { type Engine, part } from './engine.ts';
import type { InspectedContainer } from './engine-types.ts';
import { deliver, type Output } from './frames.ts';
import { isContainer } from './labels.ts';
import { forwardPort } from './port-forward.ts';
import { labelsOf, stateOf } from './records.ts';
import type { DockerStore } from './store.ts';

export interface StreamsDeps {
  readonly engine: Engine;
  readonly store: DockerStore;
  readonly commands: Commands;
  readonly clock: Clock;
  readonly inside: Pick<InsideDialer, 'dial'>;
}

export function createStreams(deps: StreamsDeps): RuntimeStreams {
  return {
    exec: (id, request) => exec(deps, id, request),
    attach: (id, request) => attach(deps, id, request),
    portForward: (sandbox, port) => forwardPort(deps, sandbox, port),
  };
}

async function exec(
  { engine, store, commands }: StreamsDeps,
  containerId: string,
  request: ExecStreamRequest,
): Promise<ProcessStreams> {
  await runningContainer(store, containerId);
  const { stdin, tty } = request;
  // Its output says why it could not be started.
  const command = await commands.start(containerId, { ...request, stdin, stdout: true, stderr: !tty });
  const connection = connect(command.socket, request);
  const ended = connection.delivered.then(() => commands.ended(command, connection.firstOutput));
  return {
    ...processStreams(connection, request, ended),
    resize: (size) => resize(engine, `/exec/${part(command.id)}/resize`, size),
    close: () => leave(connection, () => commands.kill(command)),
  };
}

async function attach(
  { engine, store }: StreamsDeps,
  containerId: string,
  asked: AttachRequest,
): Promise<ProcessStreams> {
  const found = await runningContainer(store, containerId);
  const request = { ...asked, stdin: asked.stdin && found.Config.OpenStdin, tty: found.Config.Tty };
  const { stdin, stdout, stderr } = request;
  const path = `/containers/${part(containerId)}/attach`;
  const query = { stream: '1', stdin: flag(stdin), stdout: flag(stdout), stderr: flag(stderr) };
  const socket = await engine.hijack({ method: 'POST', path, query });
  const connection = connect(socket, request);
  const ended = connection.delivered.then(async () => {
    const after = await store.inspect(containerId).catch(() => undefined);
    return { exitCode: after?.State.Running === false ? after.State.ExitCode : 0 };
  });
  return {
    ...processStreams(connection, request, ended),
    resize: (size) => resize(engine, `/containers/${part(containerId)}/resize`, size),
    close: () => leave(connection, async () => undefined),
  };
}

const flag = (value: boolean): string => (value ? '1' : '0');

async function runningContainer(store: DockerStore, id: string): Promise<InspectedContainer> {
  const found = await store.inspect(id);
  if (found === undefined || !isContainer(labelsOf(found)))
    throw new RuntimeError('NotFound', `container ${id} does not exist`);
  if (stateOf(found) === 'running') return found;
  throw new RuntimeError('IllegalState', `container ${id} does not run`);
}

interface Connection {
  readonly socket: Duplex;
  readonly sinks: ReadonlyMap<Output, PassThrough>;
  /** Resolves when everything was delivered, or the connection is lost. */
  readonly delivered: Promise<void>;
  readonly firstOutput: () => string;
}

const FIRST_OUTPUT_CHARS = 4_096;

function connect(socket: Duplex, { stdout, stderr, tty }: AttachRequest): Connection {
  socket.on('error', () => undefined);
  const sinks = new Map<Output, PassThrough>();
  if (stdout) sinks.set('stdout', new PassThrough());
  if (stderr && !tty) sinks.set('stderr', new PassThrough());
  for (const sink of sinks.values()) sink.on('error', () => undefined);
  let first = '';
  const peek = (bytes: Buffer): void => {
    if (first.length < FIRST_OUTPUT_CHARS) first += bytes.toString('utf8');
  };
  const delivered = deliver(socket, tty, { sinks, peek }).catch(() => undefined);
  return { socket, sinks, delivered, firstOutput: () => first };
}

function processStreams(
  { socket, sinks }: Connection,
  { stdin }: AttachRequest,
  ended: ProcessStreams['ended'],
): Pick<ProcessStreams, 'stdin' | 'stdout' | 'stderr' | 'ended'> {
  // Callers need not await it.
  ended.catch(() => undefined);
  const [stdout, stderr] = [sinks.get('stdout'), sinks.get('stderr')];
  return {
    ...(stdin ? { stdin: inputOf(socket) } : {}),
    ...(stdout === undefined ? {} : { stdout }),
    ...(stderr === undefined ? {} : { stderr }),
    ended,
  };
}

/** A process that no longer reads discards what is written. */
function inputOf(socket: Duplex): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (!socket.writable) done();
      else socket.write(chunk, () => done());
    },
    final: (done) => {
      if (!socket.writable) done();
      else socket.end(() => done());
    },
  });
}

function leave({ socket, sinks }: Connection, kill: () => Promise<void>): void {
  kill()
    .catch(() => undefined)
    .finally(() => {
      for (const sink of sinks.values()) sink.destroy();
      socket.destroy();
    });
}

function resize(engine: Engine, path: string, { width, height }: TerminalSize): void {
  const query = { h: String(height), w: String(width) };
  // One that ended has no size any more.
  engine.json({ method: 'POST', path, query }).catch(() => undefined);
}
