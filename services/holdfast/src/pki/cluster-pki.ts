import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { dateOf, invariant } from '@holdfast/platform';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { PkiNames } from './names.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const CA_VALID_DAYS = 3650;
const SERVER_VALID_DAYS = 825;
/** Certificates count from a little before now, for clients whose clock is behind. */
const BACKDATE_MS = 300_000;

/** PEM texts. */
export interface ClusterPki {
  readonly caCertificate: string;
  readonly caKey: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
}

/** A new certificate authority and one server certificate signed by it. */
export async function createClusterPki(names: PkiNames, nowMs: number): Promise<ClusterPki> {
  const caKeys = await generateKeys();
  const serverKeys = await generateKeys();
  const authority = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=holdfast-ca',
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    ...validity(nowMs, CA_VALID_DAYS),
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true),
    ],
  });
  const ca = { certificate: authority, key: caKeys.privateKey };
  const server = await issue(ca, { subject: 'CN=kube-apiserver', keys: serverKeys, purpose: 'server', names, nowMs });
  return {
    caCertificate: authority.toString('pem'),
    caKey: await exportKey(caKeys.privateKey),
    serverCertificate: server.toString('pem'),
    serverKey: await exportKey(serverKeys.privateKey),
  };
}

/** PEM texts. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Another certificate of the same authority: a server that proves its names, or a client that proves who it is. */
export async function issueCertificate(
  pki: Pick<ClusterPki, 'caCertificate' | 'caKey'>,
  wanted: {
    readonly user: string;
    readonly group?: string;
    readonly purpose: Purpose;
    readonly names?: PkiNames;
    readonly nowMs: number;
  },
): Promise<IssuedCertificate> {
  const keys = await generateKeys();
  const [caKey] = PemConverter.decode(pki.caKey);
  invariant(caKey !== undefined, 'the authority has a key');
  const ca = {
    certificate: new X509Certificate(pki.caCertificate),
    key: await webcrypto.subtle.importKey('pkcs8', caKey, ALGORITHM, false, ['sign']),
  };
  const { user, group, purpose, names = { dnsNames: [], ipAddresses: [] }, nowMs } = wanted;
  // As attributes, not as text: names may hold what the text form gives a meaning to.
  const subject = [...(group === undefined ? [] : [{ O: [group] }]), { CN: [user] }];
  const certificate = await issue(ca, { subject, keys, purpose, names, nowMs });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

type Purpose = 'server' | 'client';

function issue(
  ca: { readonly certificate: X509Certificate; readonly key: webcrypto.CryptoKey },
  wanted: {
    readonly subject: string | JsonName;
    readonly keys: webcrypto.CryptoKeyPair;
    readonly purpose: Purpose;
    readonly names: PkiNames;
    readonly nowMs: number;
  },
): Promise<X509Certificate> {
  const { subject, keys, purpose, nowMs } = wanted;
  const names = alternativeNames(wanted.names);
  return X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: ca.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: ca.key,
    signingAlgorithm: ALGORITHM,
    ...validity(nowMs, SERVER_VALID_DAYS),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([purpose === 'server' ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth]),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ],
  });
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** Positive and 126 bits long: two certificates of one authority never share it. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function validity(nowMs: number, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: dateOf(nowMs - BACKDATE_MS), notAfter: dateOf(nowMs + days * DAY_MS) };
}

function alternativeNames(names: PkiNames): JsonGeneralName[] {
  return [
    ...[...new Set(names.dnsNames)].map((value): JsonGeneralName => ({ type: 'dns', value })),
    ...[...new Set(names.ipAddresses)].map((value): JsonGeneralName => ({ type: 'ip', value })),
  ];
}
