import { createHash, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { formatTime, invariant } from '@holdfast/platform';
import {
  addressBytes,
  bits,
  inContext,
  integer,
  objectId,
  octets,
  partsOf,
  sequence,
  setOf,
  TRUE,
  time,
  utf8Text,
} from './der.ts';
import type { PkiNames } from './names.ts';

/** A signed binding of a key to a name (RFC 5280). Keys are P-256. */
export interface CertificateContent {
  readonly subject: Uint8Array;
  readonly issuer: Uint8Array;
  readonly publicKey: KeyObject;
  readonly issuerPublicKey: KeyObject;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Uint8Array[];
}

/** PEM. */
export function signCertificate(content: CertificateContent, issuerKey: KeyObject): string {
  const { subject, issuer, publicKey, issuerPublicKey, notBefore, notAfter, extensions } = content;
  const body = sequence(
    inContext(0, integer(Uint8Array.of(VERSION_3)), true),
    integer(serialNumber()),
    ECDSA_WITH_SHA256,
    issuer,
    sequence(time(formatTime(notBefore)), time(formatTime(notAfter))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    inContext(3, sequence(...extensions, ...keyIdentifiers(publicKey, issuerPublicKey)), true),
  );
  const signature = sign('sha256', body, issuerKey);
  return new X509Certificate(sequence(body, ECDSA_WITH_SHA256, bits(signature))).toString();
}

const VERSION_3 = 2;
const ECDSA_WITH_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'));

/** Positive and 126 bits long: certificates of one authority never share it. */
function serialNumber(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

/** An optional organization and a common name. */
export function distinguishedName(commonName: string, organization?: string): Buffer {
  const attribute = (id: string, text: string): Buffer => setOf(sequence(objectId(id), utf8Text(text)));
  return sequence(
    ...(organization === undefined ? [] : [attribute('2.5.4.10', organization)]),
    attribute('2.5.4.3', commonName),
  );
}

/** In the authority's own encoding: some clients compare bytes. It is self-signed, so its issuer is its name. */
export function nameOfAuthority(caCertificate: string): Uint8Array {
  const [body] = partsOf(new X509Certificate(caCertificate).raw);
  const name = body === undefined ? undefined : partsOf(body)[3];
  invariant(name !== undefined, 'a certificate names its issuer');
  return name;
}

const extension = (id: string, critical: boolean, value: Uint8Array): Buffer =>
  sequence(objectId(id), ...(critical ? [TRUE] : []), octets(value));

/** Identifies the certified key and the signing key; strict clients require both. */
function keyIdentifiers(publicKey: KeyObject, issuerPublicKey: KeyObject): readonly Uint8Array[] {
  return [
    extension('2.5.29.14', false, octets(keyIdentifier(publicKey))),
    extension('2.5.29.35', false, sequence(inContext(0, keyIdentifier(issuerPublicKey)))),
  ];
}

/** The point of a P-256 key is the last 65 bytes of its encoding. */
const keyIdentifier = (key: KeyObject): Uint8Array =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }).subarray(-65))
    .digest();

export const authorityExtensions = (): readonly Uint8Array[] => [
  extension('2.5.29.19', true, sequence(TRUE)),
  // Key usage: signs certificates and revocation lists, and authenticates itself.
  extension('2.5.29.15', true, bits(Uint8Array.of(0x86), 1)),
];

export type Purpose = 'server' | 'client' | 'peer';

const SERVER_USAGE = '1.3.6.1.5.5.7.3.1';
const CLIENT_USAGE = '1.3.6.1.5.5.7.3.2';
/** A peer is a server that also connects to its equals. */
const EXTENDED_USAGE = {
  server: [SERVER_USAGE],
  client: [CLIENT_USAGE],
  peer: [SERVER_USAGE, CLIENT_USAGE],
} as const satisfies Record<Purpose, readonly string[]>;

export function bearerExtensions(purpose: Purpose, names: PkiNames): readonly Uint8Array[] {
  const alternatives = [
    ...[...new Set(names.dnsNames)].map((name) => inContext(2, Buffer.from(name))),
    ...[...new Set(names.ipAddresses)].map((address) => inContext(7, addressBytes(address))),
  ];
  return [
    extension('2.5.29.19', true, sequence()),
    extension('2.5.29.15', true, bits(Uint8Array.of(0x80), 7)),
    extension('2.5.29.37', false, sequence(...EXTENDED_USAGE[purpose].map(objectId))),
    ...(alternatives.length === 0 ? [] : [extension('2.5.29.17', false, sequence(...alternatives))]),
  ];
}
