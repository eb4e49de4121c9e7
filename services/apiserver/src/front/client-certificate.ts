import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { TLSSocket } from 'node:tls';

/** By connection: it has many requests, and a certificate is dear to read. */
const subjects = new WeakMap<object, string>();

/** Only a certificate that our own authority signed says who the client is. */
export function certificateSubject(raw: IncomingMessage | Http2ServerRequest): string | undefined {
  const { socket } = raw;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  // Each request of an HTTP/2 connection has a socket of its own that stands for the one they share.
  const connection = ('stream' in raw ? raw.stream.session : undefined) ?? socket;
  const subject = subjects.get(connection) ?? socket.getPeerX509Certificate()?.subject;
  if (subject !== undefined) subjects.set(connection, subject);
  return subject;
}
