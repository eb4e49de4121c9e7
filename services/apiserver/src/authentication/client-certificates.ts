import { RecentMap } from '@holdfast/platform';
import { readIdentity } from './certificate-identity.ts';
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
  const { hash = '', commonName = '', organizations = [] } = readIdentity(certificate) ?? {};
  if (commonName === '') return undefined;
  const user: User = {
    name: commonName,
    groups: [...organizations.filter((group) => group !== AUTHENTICATED_GROUP), AUTHENTICATED_GROUP],
    extra: { [CREDENTIAL_ID]: [`X509SHA256=${hash}`] },
  };
  remembered.set(certificate, user);
  return user;
}
