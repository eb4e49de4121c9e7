import { RecentMap } from '@holdfast/platform';
import { AUTHENTICATED_GROUP, CREDENTIAL_ID, type User } from './identity.ts';
import type { Authenticator } from './port.ts';

/** A verified client certificate: common name = user, organizations = groups. */
export const clientCertificates: Authenticator = {
  authenticate: (request) => {
    const certificate = request.connection?.clientCertificate;
    return certificate === undefined ? undefined : (remembered.get(certificate) ?? userOf(certificate));
  },
};

/** Clients send many requests over a connection. */
const remembered = new RecentMap<string, User>(1_000);

function userOf(certificate: string): User | undefined {
  const [hash = '', ...subject] = certificate.split('\n');
  const parts = subject.map((line) => splitOnce(line));
  const name = parts.find(([key]) => key === 'CN')?.[1];
  if (name === undefined || name === '') return undefined;
  const groups = parts.filter(([key]) => key === 'O').map(([, value]) => value);
  const user: User = {
    name,
    groups: [...groups.filter((group) => group !== AUTHENTICATED_GROUP), AUTHENTICATED_GROUP],
    extra: { [CREDENTIAL_ID]: [`X509SHA256=${hash}`] },
  };
  remembered.set(certificate, user);
  return user;
}

function splitOnce(line: string): readonly [string, string] {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}
