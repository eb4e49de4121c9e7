import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describeError } from '@holdfast/platform';
import { type ProcessStreams, RuntimeError, type RuntimeStreams } from '../port.ts';
import { PORT_CONNECT_MS, REQUEST_DEADLINE_MS } from './limits.ts';
import type { NetworkedSandbox, ProcessNetwork } from './process-network.ts';
import {
  asStreamMessage,
  createLineReader,
  encodeLine,
  type OpenedStreams,
  STREAM,
  type StreamRequest,
  type SupervisorLine,
} from './protocol.ts';
import { createStreamLink } from './stream-link.ts';

export interface ProcessStreamsDeps {
  readonly socketPath: string;
  /** Brings the supervisor back when it was killed. */
  readonly ready: () => Promise<unknown>;
  readonly list: () => Promise<readonly NetworkedSandbox[]>;
  /** The network of pods with addresses of their own. */
  readonly network?: Pick<ProcessNetwork, 'dial'> | undefined;
}

/** Each exec and attach has a connection of its own to the supervisor; its end is the end of the streams. */
export function createProcessStreams(deps: ProcessStreamsDeps): RuntimeStreams {
  return {
    exec: (container, request) => openStreams(deps, { method: 'execStreams', container, request }),
    attach: (container, request) => openStreams(deps, { method: 'attachStreams', container, request }),
    portForward: async (sandbox, port) => {
      const found = (await deps.list()).find(({ id }) => id === sandbox);
      if (found === undefined) throw new RuntimeError('NotFound', `sandbox ${sandbox} does not exist`);
      if (found.state !== 'ready') throw new RuntimeError('IllegalState', `sandbox ${sandbox} is stopped`);
      const { network, ip: host } = found;
      if (network === undefined || deps.network === undefined) return connectPort(port);
      return deps.network.dial({ host, port, key: network.key }).catch((error: unknown) => {
        throw unreachablePort(port, error);
      });
    },
  };
}

async function openStreams(deps: ProcessStreamsDeps, request: StreamRequest): Promise<ProcessStreams> {
  await deps.ready();
  const socket = connect(deps.socketPath);
  try {
    const { opened, rest } = await ask(socket, request);
    return carry(socket, opened, rest);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function ask(socket: Socket, request: StreamRequest): Promise<{ opened: OpenedStreams; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new RuntimeError('Unavailable', 'the supervisor went away before it answered'));
    let text = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      text = Buffer.concat([text, chunk]);
      const end = text.indexOf('\n');
      if (end < 0) return;
      socket.off('data', read);
      socket.off('close', gone);
      socket.pause();
      socket.setTimeout(0);
      createLineReader<SupervisorLine>(text.length, (line) => {
        if ('error' in line) reject(new RuntimeError(line.error.code, line.error.message));
        else if ('result' in line) resolve({ opened: decodeOpened(line.result), rest: text.subarray(end + 1) });
      }).push(text.subarray(0, end + 1).toString('utf8'));
    };
    socket.on('data', read);
    socket.once('close', gone);
    // 'close' follows.
    socket.on('error', () => socket.destroy());
    socket.setTimeout(REQUEST_DEADLINE_MS, () => socket.destroy());
    socket.write(encodeLine({ id: 1, ...request }));
  });
}

function decodeOpened(result: unknown): OpenedStreams {
  if (typeof result === 'object' && result !== null && 'stdin' in result) return result as OpenedStreams;
  throw new RuntimeError('Internal', 'the supervisor answered without streams');
}

function carry(socket: Socket, opened: OpenedStreams, rest: Buffer): ProcessStreams {
  const ended = Promise.withResolvers<{ exitCode: number }>();
  ended.promise.catch(() => undefined);
  let left = false;
  const link = createStreamLink(socket, (message) => {
    const told = asStreamMessage(message);
    if ('exitCode' in told) ended.resolve({ exitCode: told.exitCode });
    else if ('failed' in told) ended.reject(new RuntimeError(told.failed.code, told.failed.message));
  });
  void link.closed.then(() => {
    if (left) ended.resolve({ exitCode: KILLED });
    else ended.reject(new RuntimeError('Unavailable', 'the supervisor went away'));
  });
  const streams = {
    ...(opened.stdin ? { stdin: link.writable(STREAM.stdin) } : {}),
    ...(opened.stdout ? { stdout: link.readable(STREAM.stdout) } : {}),
    ...(opened.stderr ? { stderr: link.readable(STREAM.stderr) } : {}),
  };
  if (rest.length > 0) socket.unshift(rest);
  socket.resume();
  return {
    ...streams,
    ended: ended.promise,
    resize: (size) => link.send({ size }),
    close: () => {
      left = true;
      socket.destroy();
    },
  };
}

/** The exit code of a command whose caller disconnected. */
const KILLED = 137;

const unreachablePort = (port: number, error: unknown): RuntimeError =>
  new RuntimeError('Internal', `failed to connect to localhost:${port}: ${describeError(error)}`, error);

/** In the network of the machine a port of the sandbox is a port of the machine. */
function connectPort(port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const refuse = (error: Error): void => reject(unreachablePort(port, error));
    socket.setTimeout(PORT_CONNECT_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('error', refuse);
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}
