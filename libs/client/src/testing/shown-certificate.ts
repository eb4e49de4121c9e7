import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { TestCertificate } from './https-server.ts';

export const serialOf = ({ certPem }: TestCertificate): string => new X509Certificate(certPem).serialNumber;

/** The serial number of the certificate that a new connection to a port of 127.0.0.1 sees. */
export async function serialAt(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}
