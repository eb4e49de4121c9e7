import { X509Certificate } from 'node:crypto';
import { pairFlaw } from '@holdfast/platform/pem';
import { formatTime } from '@holdfast/platform/time';
import type { ClusterPki } from './cluster-pki.ts';

/** Returns why kept certificates cannot be used; `undefined` when they can. */
export function flawOf({ caCertificate, caKey, serverCertificate, serverKey }: ClusterPki): string | undefined {
  return (
    pairFlaw({ name: 'ca.crt', text: caCertificate }, { name: 'ca.key', text: caKey }) ??
    pairFlaw({ name: 'server.crt', text: serverCertificate }, { name: 'server.key', text: serverKey })
  );
}

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
