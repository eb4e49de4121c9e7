import { createPrivateKey, X509Certificate } from 'node:crypto';

/** A PEM text and the file name that an operator knows. */
export interface PemFile {
  readonly name: string;
  readonly text: string;
}

/** Explains why a server cannot use the pair; `undefined` when it can. */
export function pairFlaw(certificate: PemFile, key: PemFile): string | undefined {
  const parsed = orUndefined(() => new X509Certificate(certificate.text));
  if (parsed === undefined) return `${certificate.name} is not a certificate`;
  const privateKey = orUndefined(() => createPrivateKey(key.text));
  if (privateKey === undefined) return `${key.name} is not a private key`;
  return parsed.checkPrivateKey(privateKey) ? undefined : `${key.name} does not belong to ${certificate.name}`;
}

export const isCertificate = (text: string): boolean => orUndefined(() => new X509Certificate(text)) !== undefined;

export const isPrivateKey = (text: string): boolean => orUndefined(() => createPrivateKey(text)) !== undefined;

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
