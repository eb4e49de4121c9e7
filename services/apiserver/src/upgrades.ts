import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ApiResponse } from '@holdfast/client';
import { describeError, type Log } from '@holdfast/platform';

export interface UpgradeDeps {
  /** Never rejects. */
  readonly answer: (request: IncomingMessage, signal: AbortSignal) => Promise<ApiResponse>;
  /** An answer that is none: an error, or a request that need not have asked. */
  readonly write: (raw: ServerResponse, response: ApiResponse) => Promise<void>;
  readonly stopping: AbortSignal;
  readonly log: Log;
}

/**
 * Requests that ask for another protocol on their connection. They take the same way through the pipeline as all others; an
 * answer that agrees is given the connection, any other is written as usual, and the connection ends behind it.
 */
export function serveUpgrades(server: Http2SecureServer, deps: UpgradeDeps): void {
  const open = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // 'close' follows. Whoever is given the connection listens too.
    socket.on('error', () => socket.destroy());
    serve(deps, request, socket, head).catch((error: unknown) => {
      deps.log.warn('an upgrade failed', { path: request.url, error: describeError(error) });
      socket.destroy();
    });
  });
  deps.stopping.addEventListener('abort', () => {
    for (const socket of open) socket.destroy();
  });
}

async function serve(deps: UpgradeDeps, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error('the client has gone'));
  socket.once('close', onClose);
  const response = await deps.answer(request, AbortSignal.any([deps.stopping, gone.signal]));
  socket.off('close', onClose);
  if (response.upgrade === undefined) return refuse(deps, request, socket, response);
  if (socket.destroyed || deps.stopping.aborted) return void socket.destroy();
  socket.write(headOf(response));
  response.upgrade(socket, head);
}

function headOf({ status, headers }: ApiResponse): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}

async function refuse(
  deps: UpgradeDeps,
  request: IncomingMessage,
  socket: Duplex,
  response: ApiResponse,
): Promise<void> {
  const raw = new ServerResponse(request);
  raw.setHeader('connection', 'close');
  raw.once('finish', () => socket.end());
  if (!(socket instanceof Socket)) return void socket.destroy();
  raw.assignSocket(socket);
  await deps.write(raw, response);
}
