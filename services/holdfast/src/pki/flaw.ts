import { createPrivateKey, X509Certificate } from 'node:crypto';
import { formatTime } from '@holdfast/platform/time';
import type { ClusterPki } from './cluster-pki.ts';

/** What of kept certificates cannot be used, in words; `undefined` when all of it can. */
export function flawOf({ caCertificate, caKey, serverCertificate, serverKey }: ClusterPki): string | undefined {
  return pairFlaw('ca', caCertificate, caKey) ?? pairFlaw('server', serverCertificate, serverKey);
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

function pairFlaw(name: string, certificatePem: string, keyPem: string): string | undefined {
  const certificate = orUndefined(() => new X509Certificate(certificatePem));
  if (certificate === undefined) return `${name}.crt is no certificate`;
  const key = orUndefined(() => createPrivateKey(keyPem));
  if (key === undefined) return `${name}.key is no private key`;
  return certificate.checkPrivateKey(key) ? undefined : `${name}.key does not belong to ${name}.crt`;
}

export const isPrivateKey = (pem: string): boolean => orUndefined(() => createPrivateKey(pem)) !== undefined;

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
