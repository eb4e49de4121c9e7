import type { Duplex } from 'node:stream';
import { badRequest, StatusError } from '@holdfast/machinery/status';
import type { Clock } from '@holdfast/platform/clock';
import type { Log } from '@holdfast/platform/log';
import { headersTooLarge } from '../http/refusals.ts';
import { endAfterReading } from './lingering-close.ts';

/** Node's error for a connection whose HTTP/1.1 request could not be parsed. */
interface ClientError extends Error {
  readonly code: string;
}

/** Answers on the bare connection, because there is no request to answer, and closes it. */
export function refuseConnection(error: ClientError, socket: Duplex, { clock, log }: { clock: Clock; log: Log }): void {
  log.debug('a connection was refused', { code: error.code });
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!socket.writable) return void socket.destroy(error);
  socket.write(refusal(statusOf(error.code)));
  endAfterReading(socket, clock);
}

function refusal({ code, body }: StatusError): string {
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${code} ${REASON_PHRASES[code] ?? 'Bad Request'}`;
  const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close`;
  return `${head}\r\n${headers}\r\n\r\n${text}`;
}

const REASON_PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

function statusOf(code: string): StatusError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new StatusError({ code: 408, reason: 'Timeout', message: 'Timeout: the request did not arrive in time' });
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge();
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message: 'chunk extensions are too large' });
    default:
      return badRequest('the data are not an HTTP request');
  }
}
