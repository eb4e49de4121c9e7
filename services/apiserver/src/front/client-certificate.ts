import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { TLSSocket } from 'node:tls';
import type { Clock } from '@holdfast/platform/clock';
import { identityText } from '../authentication/certificate-identity.ts';

interface Identity {
  readonly text: string;
  readonly goodUntil: number;
}

/** By connection: it has many requests, and parsing a certificate is expensive. */
const identities = new WeakMap<object, Identity | undefined>();

/** An expired certificate, or one of another authority: authentication fails. */
const FOREIGN = '';

/** Only a certificate of our own authority identifies the client, by a text of `identityText`. */
export function clientCertificate(raw: IncomingMessage | Http2ServerRequest, clock: Clock): string | undefined {
  const { socket } = raw;
  if (!(socket instanceof TLSSocket)) return undefined;
  // Each request of an HTTP/2 connection has its own socket proxy for the shared connection.
  const connection = ('stream' in raw ? raw.stream.session : undefined) ?? socket;
  if (!identities.has(connection)) identities.set(connection, readIdentity(socket));
  const identity = identities.get(connection);
  // A connection may outlive the certificate that it was opened with.
  return identity !== undefined && clock.now() > identity.goodUntil ? FOREIGN : identity?.text;
}

function readIdentity(socket: TLSSocket): Identity | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const text = identityText(createHash('sha256').update(certificate.raw).digest('hex'), certificate.raw);
  return { text: socket.authorized ? text : FOREIGN, goodUntil: certificate.validToDate.getTime() };
}
