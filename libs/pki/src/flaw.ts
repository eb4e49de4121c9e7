import { X509Certificate } from 'node:crypto';
import { pairFlaw } from '@holdfast/platform/pem';
import { formatTime } from '@holdfast/platform/time';
import type { Authority, ClusterPki } from './cluster-pki.ts';

/** Returns why a kept authority cannot be used; `undefined` when it can. */
export const authorityFlaw = ({ caCertificate, caKey }: Authority): string | undefined =>
  pairFlaw({ name: 'ca.crt', text: caCertificate }, { name: 'ca.key', text: caKey });

/** Returns why a kept server certificate cannot be used; `undefined` when it can. Its authority has no flaw. */
export function serverFlaw({
  caCertificate,
  serverCertificate,
  serverKey,
}: Omit<ClusterPki, 'caKey'>): string | undefined {
  const flaw = pairFlaw({ name: 'server.crt', text: serverCertificate }, { name: 'server.key', text: serverKey });
  if (flaw !== undefined) return flaw;
  return isSignedBy(serverCertificate, caCertificate) ? undefined : 'server.crt is not signed by ca.crt';
}

/** Both in PEM. */
export const isSignedBy = (certificate: string, caCertificate: string): boolean =>
  new X509Certificate(certificate).verify(new X509Certificate(caCertificate).publicKey);

/**
 * An authority that becomes valid later was created while the clock was ahead, or the clock is behind now. Which one is
 * unknown, so the authority stays, and this returns a warning that explains refused connections.
 */
export function cautionsOf({ caCertificate }: Pick<ClusterPki, 'caCertificate'>, nowMs: number): readonly string[] {
  const begins = new X509Certificate(caCertificate).validFromDate.getTime();
  if (begins <= nowMs) return [];
  return [
    `clients refuse the certificates: they count from ${formatTime(begins)} and this machine's clock says ${formatTime(nowMs)}; set the clock, or remove pki in the data directory and start again`,
  ];
}
