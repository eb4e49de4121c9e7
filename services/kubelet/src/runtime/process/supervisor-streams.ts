import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { type AttachRequest, RuntimeError, type TerminalSize } from '../port.ts';
import { tailFile } from './output-tail.ts';
import {
  asStreamMessage,
  encodeLine,
  type OpenedStreams,
  STREAM,
  type StreamRequest,
  type SupervisorLine,
} from './protocol.ts';
import { createStreamLink, type StreamLink } from './stream-link.ts';
import type { Supervisor } from './supervisor.ts';
import { tellFault } from './tell-fault.ts';
import { resizeTerminal } from './terminal.ts';

interface Opened {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly ended: Promise<{ readonly exitCode: number }>;
  resize(size: TerminalSize): void;
  /** The other end is gone. */
  left(): void;
  /** True when the end of the given input closes the process's input. */
  readonly endsInput: boolean;
}

/** Serves one exec or attach; the socket carries nothing else from here on. */
export function serveStreams(
  supervisor: Supervisor,
  line: { readonly id: number } & StreamRequest,
  socket: Socket,
): void {
  const answer = (text: SupervisorLine): void => void (socket.writable && socket.write(encodeLine(text)));
  open(supervisor, line).then(
    (opened) => {
      answer({ id: line.id, result: streamsOf(opened) });
      carry(opened, socket);
    },
    (error: unknown) => {
      answer({ id: line.id, error: describe(error) });
      socket.end();
    },
  );
}

const streamsOf = ({ stdin, stdout, stderr }: Opened): OpenedStreams => ({
  stdin: stdin !== null,
  stdout: stdout !== null,
  stderr: stderr !== null,
});

const describe = (error: unknown) => ({
  code: error instanceof RuntimeError ? error.code : ('Internal' as const),
  message: error instanceof Error ? error.message : String(error),
});

async function open(supervisor: Supervisor, line: StreamRequest): Promise<Opened> {
  if (line.method === 'attachStreams') return openAttach(supervisor, line.container, line.request);
  const exec = supervisor.commands.openExec(line.container, line.request);
  const stdin = line.request.stdin ? exec.stdin : null;
  return { ...exec, stdin, left: () => exec.kill(), endsInput: true };
}

/** Both outputs of a container go to one file, so both are this one stream. */
async function openAttach(supervisor: Supervisor, id: string, request: AttachRequest): Promise<Opened> {
  const container = supervisor.commands.running(id);
  const { clock } = supervisor;
  const { tty = false, stdinOnce = false, stdin: hasInput = false } = container.config;
  if (request.tty && !tty) {
    throw new RuntimeError('IllegalState', `container ${container.config.name} was started without a terminal`);
  }
  const stdin = request.stdin && hasInput ? (container.stdin ?? null) : null;
  const output = await tailFile(clock, container.logPath, container.isOver);
  const wanted = request.stdout || request.stderr;
  if (!wanted) output.resume();
  const over = Promise.withResolvers<{ exitCode: number }>();
  output.once('close', () => over.resolve({ exitCode: 0 }));
  return {
    stdin,
    stdout: wanted ? output : null,
    stderr: null,
    ended: over.promise,
    resize: (size) => void (tty && resizeTerminal(container.pid, size, (delayMs) => clock.sleep(delayMs))),
    left: () => {
      output.destroy();
      if (stdin !== null && stdinOnce) stdin.end();
    },
    endsInput: stdinOnce,
  };
}

function carry(opened: Opened, socket: Socket): void {
  const link: StreamLink = createStreamLink(socket, (message) => {
    const told = asStreamMessage(message);
    if ('size' in told) opened.resize(told.size);
  });
  const { stdin, stdout, stderr } = opened;
  if (stdin !== null) carryInput(link.readable(STREAM.stdin), stdin, opened.endsInput);
  const outputs = [
    stdout === null ? undefined : carryOutput(stdout, link.writable(STREAM.stdout)),
    stderr === null ? undefined : carryOutput(stderr, link.writable(STREAM.stderr)),
  ];
  const ended = opened.ended.then(
    ({ exitCode }) => link.send({ exitCode }),
    (error: unknown) => link.send({ failed: describe(error) }),
  );
  const fail = tellFault('a stream was not ended');
  Promise.all([ended, ...outputs])
    .then(() => link.close())
    .catch(fail);
  link.closed.then(() => opened.left()).catch(fail);
}

/** A process that does not read any more swallows the rest. */
function carryInput(from: Readable, to: Writable, endsInput: boolean): void {
  const swallow = (): void => {
    from.unpipe(to);
    from.resume();
  };
  // It also closes after an error, which its opener handles.
  to.once('close', swallow);
  from.once('end', () => to.off('close', swallow));
  from.pipe(to, { end: endsInput });
  if (to.destroyed) swallow();
}

function carryOutput(from: Readable, to: Writable): Promise<void> {
  const done = Promise.withResolvers<void>();
  to.once('finish', () => done.resolve());
  from.once('close', () => to.end());
  from.pipe(to);
  return done.promise;
}
