import { readSubject, signedParts, type X509Subject } from '../authentication/x509-subject.ts';

const INTEGER = 0x02;

export type RequestedSubject = X509Subject;

/** The subject of a PKCS #10 request: base64 of PEM. Nothing when it cannot be read. */
export function subjectOfCsr(request: string): RequestedSubject | undefined {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const body = /-----BEGIN CERTIFICATE REQUEST-----([\s\S]*?)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1];
  const [version, subject] = (body === undefined ? undefined : signedParts(Buffer.from(body, 'base64'))) ?? [];
  return version?.tag !== INTEGER || subject === undefined ? undefined : readSubject(subject);
}
