import { createServer, type Server, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { RuntimeError } from '../port.ts';
import { LINE_MAX_BYTES } from './limits.ts';
import {
  type ClientLine,
  createLineReader,
  encodeLine,
  type Request,
  type RequestResult,
  type SupervisorLine,
} from './protocol.ts';
import type { Supervisor } from './supervisor.ts';
import { serveStreams } from './supervisor-streams.ts';

export interface SupervisorServer {
  listen(path: string): Promise<void>;
  tellChanged(podUid: string): void;
}

export function createSupervisorServer(deps: {
  readonly version: string;
  readonly supervisor: () => Supervisor;
  /** Before the last answer: who got it finds no file of ours changing any more. */
  readonly beforeLastAnswer: () => void;
  readonly onShutDown: () => void;
}): SupervisorServer {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const reader = createLineReader<ClientLine>(LINE_MAX_BYTES, (line) => {
      if (line.method === 'execStreams' || line.method === 'attachStreams') {
        socket.off('data', read);
        sockets.delete(socket);
        return serveStreams(deps.supervisor(), line, socket);
      }
      void handle(deps, line, socket).then((result) => {
        const isLast = line.method === 'shutdown';
        if (isLast) deps.beforeLastAnswer();
        // The last answer must have left this process before it ends.
        const onSent = isLast ? deps.onShutDown : undefined;
        if (socket.writable) socket.write(encodeLine(result), onSent);
        else onSent?.();
      });
      return undefined;
    });
    const decoder = new StringDecoder('utf8');
    const read = (chunk: Buffer): void => reader.push(decoder.write(chunk));
    socket.on('data', read);
    // A killed client resets the connection: 'close' follows and releases its requests.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      deps.supervisor().release(socket);
    });
  });
  return {
    listen: (path) => listen(server, path),
    tellChanged: (podUid) => {
      const line = encodeLine({ changed: podUid });
      for (const socket of sockets) if (socket.writable) socket.write(line);
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(path, resolve);
  });
}

type RequestLine = { readonly id: number } & Request;

async function handle(
  deps: { readonly version: string; readonly supervisor: () => Supervisor },
  line: RequestLine,
  owner: object,
): Promise<SupervisorLine> {
  try {
    const result = await dispatch(deps, line, owner);
    return { id: line.id, result: result ?? null };
  } catch (error) {
    const code = error instanceof RuntimeError ? error.code : 'Internal';
    return { id: line.id, error: { code, message: error instanceof Error ? error.message : String(error) } };
  }
}

async function dispatch(
  deps: { readonly version: string; readonly supervisor: () => Supervisor },
  line: RequestLine,
  owner: object,
): Promise<RequestResult | undefined | void> {
  const supervisor = deps.supervisor();
  switch (line.method) {
    case 'version':
      return deps.version;
    case 'keepsDeadline':
      return undefined;
    case 'runSandbox':
      return supervisor.runSandbox(line.config, line.ip, line.network);
    case 'stopSandbox':
      return supervisor.stopSandbox(line.sandbox, line.graceMs, owner);
    case 'removeSandbox':
      return supervisor.removeSandbox(line.sandbox);
    case 'createContainer':
      return supervisor.createContainer(line.sandbox, line.config);
    case 'startContainer':
      return supervisor.startContainer(line.container, line.startBeforeMs);
    case 'stopContainer':
      return supervisor.stopContainer(line.container, line.graceMs, owner);
    case 'removeContainer':
      return supervisor.removeContainer(line.container);
    case 'exec':
      return supervisor.commands.exec(line.container, line.command, line.timeoutMs);
    case 'list':
      return supervisor.list(line.podUid);
    case 'shutdown':
      return supervisor.shutDown(line.graceMs, owner);
    default:
      return refuseUnknown(line);
  }
}

/** A client of a later version may ask for what this supervisor does not know. */
function refuseUnknown(line: never): never {
  throw new RuntimeError('Unsupported', `unknown request ${JSON.stringify(line)}`);
}
