import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { dateOf } from '@holdfast/platform';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
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
  const server = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=kube-apiserver',
    issuer: authority.subject,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    ...validity(nowMs, SERVER_VALID_DAYS),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(alternativeNames(names)),
    ],
  });
  return {
    caCertificate: authority.toString('pem'),
    caKey: await exportKey(caKeys.privateKey),
    serverCertificate: server.toString('pem'),
    serverKey: await exportKey(serverKeys.privateKey),
  };
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
