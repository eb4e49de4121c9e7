import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type DerValue, derValues } from './der.ts';

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_IDENTIFIER = 0x06;
const SEQUENCE = 0x30;

/** The parts of a PKCS #10 request (RFC 2986). */
interface SignedRequest {
  readonly signed: Buffer;
  readonly publicKey: Buffer;
  readonly algorithm: DerValue;
  readonly parameters: DerValue | undefined;
  readonly signature: Buffer;
}

/** Why Kubernetes refuses a request in DER, in the words of Go; nothing when its own key signed it. */
export function requestProblem(der: Buffer): string | undefined {
  const request = readRequest(der);
  if (request === undefined) return 'asn1: structure error';
  const algorithm = algorithmOf(request);
  if (algorithm === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  const key = readKey(request.publicKey);
  if (key === undefined) return 'x509: malformed public key';
  if (key.asymmetricKeyType !== algorithm.key) {
    return `x509: signature algorithm specifies an ${algorithm.says} public key, but have another public key`;
  }
  return isSigned(request, algorithm, key) ? undefined : algorithm.failure;
}

function readRequest(der: Buffer): SignedRequest | undefined {
  const [whole] = derValues(der, 1) ?? [];
  if (whole?.tag !== SEQUENCE || whole.whole.length < der.length) return undefined;
  const [signed, algorithm, signature] = derValues(whole.content, 3) ?? [];
  if (signed?.tag !== SEQUENCE || algorithm?.tag !== SEQUENCE || signature?.tag !== BIT_STRING) return undefined;
  const [version, subject, publicKey] = derValues(signed.content, 3) ?? [];
  if (version?.tag !== INTEGER || subject?.tag !== SEQUENCE || publicKey?.tag !== SEQUENCE) return undefined;
  const [identifier, parameters] = derValues(algorithm.content, 2) ?? [];
  if (identifier?.tag !== OBJECT_IDENTIFIER) return undefined;
  return {
    signed: signed.whole,
    publicKey: publicKey.whole,
    algorithm: identifier,
    parameters,
    // The first byte counts unused bits, of which a signature has none.
    signature: signature.content.subarray(1),
  };
}

interface Algorithm {
  readonly key: 'rsa' | 'ec' | 'ed25519';
  readonly says: 'RSA' | 'ECDSA' | 'Ed25519';
  readonly hash: string | undefined;
  readonly failure: string;
  readonly isPss?: true;
}

const rsa = (hash: string): Algorithm => ({
  key: 'rsa',
  says: 'RSA',
  hash,
  failure: 'crypto/rsa: verification error',
});
const ecdsa = (hash: string): Algorithm => ({
  key: 'ec',
  says: 'ECDSA',
  hash,
  failure: 'x509: ECDSA verification failure',
});

/** The algorithms that Go verifies for a request, by the bytes of their object identifiers. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ['2a864886f70d010105', rsa('sha1')],
  ['2b0e03021d', rsa('sha1')],
  ['2a864886f70d01010b', rsa('sha256')],
  ['2a864886f70d01010c', rsa('sha384')],
  ['2a864886f70d01010d', rsa('sha512')],
  ['2a8648ce3d0401', ecdsa('sha1')],
  ['2a8648ce3d040302', ecdsa('sha256')],
  ['2a8648ce3d040303', ecdsa('sha384')],
  ['2a8648ce3d040304', ecdsa('sha512')],
  ['2b6570', { key: 'ed25519', says: 'Ed25519', hash: undefined, failure: 'x509: Ed25519 verification failure' }],
]);

const RSA_PSS = '2a864886f70d01010a';
/** The hash of RSA-PSS is in its parameters. */
const PSS_HASHES: readonly (readonly [identifier: string, hash: string])[] = [
  ['0609608648016503040201', 'sha256'],
  ['0609608648016503040202', 'sha384'],
  ['0609608648016503040203', 'sha512'],
];

function algorithmOf({ algorithm, parameters }: SignedRequest): Algorithm | undefined {
  const identifier = algorithm.content.toString('hex');
  if (identifier !== RSA_PSS) return ALGORITHMS.get(identifier);
  const named = PSS_HASHES.find(([hash]) => parameters?.content.includes(hash, 0, 'hex'));
  return named === undefined ? undefined : { ...rsa(named[1]), isPss: true };
}

function readKey(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

function isSigned({ signed, signature }: SignedRequest, { hash, isPss }: Algorithm, key: KeyObject): boolean {
  // As in Go, the salt is as long as the hash.
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  try {
    return verify(hash, signed, isPss ? { key, ...pss } : key, signature);
  } catch {
    return false;
  }
}
