import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { StatusError } from '@holdfast/machinery/status';

/**
 * The body of a request that asks for another protocol, of which Node reads the headers alone. Absent: it has none. Such a request may as
 * well be an ordinary one: clients offer protocols with whatever they send, and a deletion without its preconditions is another deletion.
 */
export function bodyOfUpgrade({ headers }: IncomingMessage, socket: Socket): Readable | undefined {
  if (headers['transfer-encoding'] !== undefined) throw lengthRequired();
  const length = Number(headers['content-length'] ?? 0);
  if (length === 0) return undefined;
  if (headers.expect?.toLowerCase() === '100-continue') socket.write('HTTP/1.1 100 Continue\r\n\r\n');
  return firstBytes(socket, length);
}

/** What comes behind them stays in the socket: it may be of the other protocol. */
function firstBytes(socket: Socket, length: number): Readable {
  const body = new PassThrough();
  let left = length;
  const take = (chunk: Buffer): void => {
    const part = chunk.subarray(0, left);
    left -= part.length;
    body.write(part);
    if (left > 0) return;
    socket.off('data', take).pause();
    if (part.length < chunk.length) socket.unshift(chunk.subarray(part.length));
    body.end();
  };
  const leave = (): void => void body.destroy();
  socket.on('data', take).once('end', leave).once('close', leave);
  body.once('close', () => socket.off('end', leave).off('close', leave));
  return body;
}

const lengthRequired = (): StatusError =>
  new StatusError({
    code: 411,
    reason: 'BadRequest',
    message: 'the body of a request that asks for another protocol needs a Content-Length',
  });
