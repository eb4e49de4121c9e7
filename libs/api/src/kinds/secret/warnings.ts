import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Secret } from '../../generated/types.ts';
import { TLS_SECRET } from '../../semantics/well-known.ts';
import { pemBlocks } from '../../validation/pem.ts';

/** Warns of a certificate and key that no server could use, in the words of Go's TLS library. */
export function secretWarnings({ type, data = {} }: Readonly<Secret>): readonly string[] {
  if (type !== TLS_SECRET) return [];
  const problem = keyPairProblem(textOf(data['tls.crt']), textOf(data['tls.key']));
  return problem === undefined ? [] : [problem];
}

const textOf = (base64 = ''): string => Buffer.from(base64, 'base64').toString('utf8');

const CERTIFICATE = 'CERTIFICATE';

function keyPairProblem(certificate: string, key: string): string | undefined {
  const certificateTypes = blocksOf(certificate);
  if (!certificateTypes.includes(CERTIFICATE)) return certificateProblem(certificateTypes);
  const keyTypes = blocksOf(key);
  if (!keyTypes.some(isKey)) return keyProblem(keyTypes);
  const leaf = attempt(() => new X509Certificate(certificate));
  if (leaf === undefined) return 'x509: malformed certificate';
  const secret = attempt(() => createPrivateKey(key));
  if (secret === undefined) return 'tls: failed to parse private key';
  return matches(leaf, secret);
}

function certificateProblem(types: readonly string[]): string {
  if (types.length === 0) return 'tls: failed to find any PEM data in certificate input';
  const [first = ''] = types;
  if (types.length === 1 && isKey(first)) {
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${types.join(' ')}]`;
}

function keyProblem(types: readonly string[]): string {
  if (types.length === 0) return 'tls: failed to find any PEM data in key input';
  if (types.length === 1 && types[0] === CERTIFICATE) {
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${types.join(' ')}]`;
}

const isKey = (type: string): boolean => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY');

/** Returns the types of the PEM blocks of a text. */
const blocksOf = (text: string): readonly string[] => pemBlocks(text).map(({ type }) => type);

function matches(leaf: X509Certificate, secret: KeyObject): string | undefined {
  // A certificate may contain a key of an unknown type.
  const [expected, given] = [attempt(() => leaf.publicKey), attempt(() => createPublicKey(secret))];
  if (expected === undefined || given === undefined) return 'tls: unknown public key algorithm';
  if (expected.asymmetricKeyType !== given.asymmetricKeyType) {
    return 'tls: private key type does not match public key type';
  }
  return expected.equals(given) ? undefined : 'tls: private key does not match public key';
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
