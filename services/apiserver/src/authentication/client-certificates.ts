import { AUTHENTICATED_GROUP, type User } from '../identity.ts';
import type { Authenticator } from './port.ts';

/** A verified client certificate: common name = user, organizations = groups. */
export const clientCertificates: Authenticator = {
  authenticate: (request) => {
    const subject = request.connection?.certificateSubject;
    return subject === undefined ? undefined : userOf(subject);
  },
};

function userOf(subject: string): User | undefined {
  const parts = subject.split('\n').map((line) => splitOnce(line));
  const name = parts.find(([key]) => key === 'CN')?.[1];
  if (name === undefined || name === '') return undefined;
  const groups = parts.filter(([key]) => key === 'O').map(([, value]) => value);
  return { name, groups: [...groups.filter((group) => group !== AUTHENTICATED_GROUP), AUTHENTICATED_GROUP] };
}

function splitOnce(line: string): readonly [string, string] {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}
