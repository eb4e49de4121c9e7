import { requestDer } from '@holdfast/api';
import { readSubject, signedParts, type X509Subject } from '../authentication/x509-subject.ts';

const INTEGER = 0x02;

export type RequestedSubject = X509Subject;

/** The subject of a PKCS #10 request: base64 of PEM. Nothing when it cannot be read. */
export function subjectOfCsr(request: string): RequestedSubject | undefined {
  const der = requestDer(request);
  const [version, subject] = (der === undefined ? undefined : signedParts(der)) ?? [];
  return version?.tag !== INTEGER || subject === undefined ? undefined : readSubject(subject);
}
