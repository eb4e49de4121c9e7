import { PassThrough, Readable } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import {
  type AttachRequest,
  type ExecStreamRequest,
  type ProcessStreams,
  RuntimeError,
  type RuntimeStreams,
} from '../port.ts';
import { readScript } from './script.ts';

/** The parts of the simulated machine that streams need. */
export interface HollowStreamMachine {
  readonly clock: Clock;
  /** Throws unless it runs. Calls `onEnd` at its end; the returned function cancels that. */
  watch(container: string, onEnd: () => void): WatchedContainer;
  assertReady(sandbox: string): void;
}

export interface WatchedContainer {
  readonly copiesInput: boolean;
  /** Attached readers. */
  readonly readers: Set<PassThrough>;
  leave(): void;
  /** An attached writer disconnected. */
  inputLeft(): void;
}

/** RFC 862: every hollow pod answers here what it is sent, and nowhere else. */
const ECHO_PORT = 7;
const KILLED = 137;

/**
 * Scripted answers, so that the way of streams through the API can be tried with as many pods as wanted:
 * - `cat`: its output is its input
 * - `echo <words>`, and `say <stdout> <stderr> <code>`
 * - `yes`: output without end; `stay`: none, until it is killed
 * - `no-such-program`: cannot be started
 * - all others as in `script.ts`, without output
 */
export function createHollowStreams(machine: HollowStreamMachine): RuntimeStreams {
  return {
    exec: async (container, request) => openExec(machine, container, request),
    attach: async (container, request) => openAttach(machine, container, request),
    portForward: async (sandbox, port) => {
      machine.assertReady(sandbox);
      if (port !== ECHO_PORT) {
        throw new RuntimeError(
          'Internal',
          `failed to connect to localhost:${port}: a hollow pod does not listen there`,
        );
      }
      return new PassThrough();
    },
  };
}

interface Play {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Absent: until it is killed. */
  readonly exit: Promise<number> | undefined;
  readonly stdin: PassThrough;
}

function openExec(machine: HollowStreamMachine, container: string, request: ExecStreamRequest): ProcessStreams {
  const ended = Promise.withResolvers<{ exitCode: number }>();
  ended.promise.catch(() => undefined);
  const kill = (): void => end(KILLED);
  const watched = machine.watch(container, kill);
  const [program = ''] = request.command;
  if (program === 'no-such-program') {
    watched.leave();
    throw new RuntimeError('Internal', `exec: "${program}": executable file not found in $PATH`);
  }
  const play = perform(machine.clock, request.command);
  const end = (exitCode: number): void => {
    watched.leave();
    for (const stream of [play.stdout, play.stderr]) if (!stream.readableEnded) stream.push(null);
    play.stdin.destroy();
    ended.resolve({ exitCode });
  };
  void play.exit?.then(end);
  return { ...chosen(play, request), ended: ended.promise, resize: () => undefined, close: kill };
}

/** A `cat` container sends all input to everyone attached. */
function openAttach(machine: HollowStreamMachine, container: string, request: AttachRequest): ProcessStreams {
  const ended = Promise.withResolvers<{ exitCode: number }>();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const over = (): void => {
    watched.leave();
    watched.readers.delete(stdout);
    stdout.end();
    stdin.destroy();
    ended.resolve({ exitCode: 0 });
  };
  const watched = machine.watch(container, over);
  watched.readers.add(stdout);
  stdin.on('data', (chunk: Buffer) => {
    if (watched.copiesInput) for (const reader of watched.readers) reader.write(chunk);
  });
  const inputLeft = (): void => {
    if (request.stdin) watched.inputLeft();
  };
  stdin.once('end', inputLeft);
  return {
    ...(request.stdin ? { stdin } : {}),
    ...(request.stdout ? { stdout } : {}),
    ended: ended.promise,
    resize: () => undefined,
    close: () => {
      over();
      inputLeft();
    },
  };
}

const nothing = (): Readable => new Readable({ read: () => undefined });

function perform(clock: Clock, command: readonly string[]): Play {
  const [program = '', ...words] = command;
  const stdin = new PassThrough();
  const silent = { stdin, stdout: nothing(), stderr: nothing() };
  switch (program) {
    case 'cat': {
      const exit = new Promise<number>((resolve) => stdin.once('end', () => resolve(0)));
      return { ...silent, stdout: stdin, exit };
    }
    case 'echo':
      return { ...silent, stdout: textOf(words.join(' ')), exit: Promise.resolve(0) };
    case 'say': {
      const [out = '', err = '', code = ''] = words;
      return { ...silent, stdout: textOf(out), stderr: textOf(err), exit: Promise.resolve(Number(code) || 0) };
    }
    case 'yes':
      return { ...silent, stdout: flood(), exit: undefined };
    case 'stay':
      return { ...silent, exit: undefined };
    default: {
      const { exitAfterMs = 0, exitCode } = readScript(command, []);
      return { ...silent, exit: clock.sleep(exitAfterMs).then(() => exitCode) };
    }
  }
}

const textOf = (text: string): Readable => {
  const stream = nothing();
  stream.push(`${text}\n`);
  return stream;
};

function flood(): Readable {
  const block = Buffer.from('y\n'.repeat(4_096));
  const stream: Readable = new Readable({ read: () => void (stream.readableEnded || stream.push(block)) });
  return stream;
}

function chosen(play: Play, request: AttachRequest): Pick<ProcessStreams, 'stdin' | 'stdout' | 'stderr'> {
  if (!request.stdin && play.stdin === play.stdout) play.stdin.end();
  return {
    ...(request.stdin ? { stdin: play.stdin } : {}),
    ...(request.stdout ? { stdout: play.stdout } : {}),
    ...(request.stderr && !request.tty ? { stderr: play.stderr } : {}),
  };
}
