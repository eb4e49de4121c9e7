import { X509Certificate } from 'node:crypto';
import { pairFlaw } from '@holdfast/platform/pem';
import { formatTime } from '@holdfast/platform/time';
import type { ClusterPki } from './cluster-pki.ts';

/** What of kept certificates cannot be used, in words; `undefined` when all of it can. */
export function flawOf({ caCertificate, caKey, serverCertificate, serverKey }: ClusterPki): string | undefined {
  return (
    pairFlaw({ name: 'ca.crt', text: caCertificate }, { name: 'ca.key', text: caKey }) ??
    pairFlaw({ name: 'server.crt', text: serverCertificate }, { name: 'server.key', text: serverKey })
  );
}

/**
 * An authority that begins later was made while the clock was ahead, or the clock is behind now: which of them nobody knows here, so
 * it stays, and whoever wonders why every client refuses the server is told.
 */
export function cautionsOf({ caCertificate }: Pick<ClusterPki, 'caCertificate'>, nowMs: number): readonly string[] {
  const begins = new X509Certificate(caCertificate).validFromDate.getTime();
  if (begins <= nowMs) return [];
  return [
    `clients refuse the certificates: they count from ${formatTime(begins)} and this machine's clock says ${formatTime(nowMs)}; set the clock, or remove pki in the data directory and start again`,
  ];
}
