import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import {
  authorityExtensions,
  bearerExtensions,
  distinguishedName,
  nameOfAuthority,
  type Purpose,
  signCertificate,
} from './certificate.ts';
import type { PkiNames } from './names.ts';

const DAY_MS = 86_400_000;
const CA_VALID_DAYS = 3650;
const SERVER_VALID_DAYS = 825;
/** Certificates are valid from shortly before now, for clients whose clock is behind. */
const BACKDATE_MS = 300_000;

/** PEM texts. */
export interface ClusterPki {
  readonly caCertificate: string;
  readonly caKey: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
}

export type Authority = Pick<ClusterPki, 'caCertificate' | 'caKey'>;

/** Creates a new certificate authority and one server certificate signed by it. */
export async function createClusterPki(names: PkiNames, nowMs: number): Promise<ClusterPki> {
  return withNewServer(await createAuthority(nowMs), names, nowMs);
}

/** Issues another server certificate of the same authority: clients keep trusting the cluster. */
export async function withNewServer(
  { caCertificate, caKey }: Authority,
  names: PkiNames,
  nowMs: number,
): Promise<ClusterPki> {
  const wanted = { user: 'kube-apiserver', purpose: 'server', names, nowMs } as const;
  const server = await issueCertificate({ caCertificate, caKey }, wanted);
  return { caCertificate, caKey, serverCertificate: server.certificate, serverKey: server.key };
}

/** Creates a new certificate authority. */
export async function createAuthority(nowMs: number, authorityName = 'holdfast-ca'): Promise<Authority> {
  const { publicKey, privateKey } = await generateKeys();
  const name = distinguishedName(authorityName);
  const caCertificate = signCertificate(
    {
      subject: name,
      issuer: name,
      publicKey,
      issuerPublicKey: publicKey,
      ...validity(nowMs, CA_VALID_DAYS),
      extensions: authorityExtensions(),
    },
    privateKey,
  );
  return { caCertificate, caKey: exportKey(privateKey) };
}

/** Authenticates this server to aggregated API servers. PEM texts. */
export interface FrontProxyPki {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** A dedicated authority whose key is not kept: it never signs another certificate. */
export async function createFrontProxyPki(nowMs: number): Promise<FrontProxyPki> {
  const authority = await createAuthority(nowMs, 'holdfast-front-proxy-ca');
  const wanted = { user: 'front-proxy-client', purpose: 'client', nowMs } as const;
  return { ca: authority.caCertificate, ...(await issueCertificate(authority, wanted)) };
}

/** PEM texts. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Issues another certificate of the same authority, for a server or for a client. */
export async function issueCertificate(
  pki: Authority,
  wanted: {
    readonly user: string;
    readonly group?: string;
    readonly purpose: Purpose;
    readonly names?: PkiNames;
    readonly nowMs: number;
  },
): Promise<IssuedCertificate> {
  const { user, group, purpose, names = { dnsNames: [], ipAddresses: [] }, nowMs } = wanted;
  const { publicKey, privateKey } = await generateKeys();
  const certificate = signCertificate(
    {
      subject: distinguishedName(user, group),
      issuer: nameOfAuthority(pki.caCertificate),
      publicKey,
      issuerPublicKey: new X509Certificate(pki.caCertificate).publicKey,
      ...validity(nowMs, SERVER_VALID_DAYS),
      extensions: bearerExtensions(purpose, names),
    },
    createPrivateKey(pki.caKey),
  );
  return { certificate, key: exportKey(privateKey) };
}

const generate = promisify(generateKeyPair);

const generateKeys = (): Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }> =>
  generate('ec', { namedCurve: 'P-256' });

const exportKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const validity = (nowMs: number, days: number): { readonly notBefore: number; readonly notAfter: number } => ({
  notBefore: nowMs - BACKDATE_MS,
  notAfter: nowMs + days * DAY_MS,
});
