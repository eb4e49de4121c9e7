import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { TLSSocket } from 'node:tls';

/** By connection: it has many requests, and a certificate is dear to read. */
const identities = new WeakMap<object, string | undefined>();

/** A certificate that our own authority did not sign: its holder is nobody, and is told so. */
const FOREIGN = '';

/** Only a certificate that our own authority signed says who the client is: the hash by which it is known, then its subject. */
export function clientCertificate(raw: IncomingMessage | Http2ServerRequest): string | undefined {
  const { socket } = raw;
  if (!(socket instanceof TLSSocket)) return undefined;
  // Each request of an HTTP/2 connection has a socket of its own that stands for the one they share.
  const connection = ('stream' in raw ? raw.stream.session : undefined) ?? socket;
  if (!identities.has(connection)) identities.set(connection, readIdentity(socket));
  return identities.get(connection);
}

function readIdentity(socket: TLSSocket): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  if (!socket.authorized) return FOREIGN;
  return `${createHash('sha256').update(certificate.raw).digest('hex')}\n${certificate.subject}`;
}
