import { subjectOfCertificate } from './x509-subject.ts';

/** Whom a verified certificate names. */
export interface CertificateIdentity {
  /** SHA-256 of the certificate, as hex. */
  readonly hash: string;
  /** '' = none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** The text that goes with each request of a connection, and that remembered users are found by. */
export function identityText(hash: string, certificate: Buffer): string {
  const { commonNames = [], organizations = [] } = subjectOfCertificate(certificate) ?? {};
  // The last one counts for Kubernetes. The signer of the cluster refuses several.
  const commonName = commonNames.at(-1) ?? '';
  return JSON.stringify({ hash, commonName, organizations } satisfies CertificateIdentity);
}

/** '' is the certificate of another authority, which names nobody. */
export const readIdentity = (text: string): CertificateIdentity | undefined =>
  text === '' ? undefined : (JSON.parse(text) as CertificateIdentity);
