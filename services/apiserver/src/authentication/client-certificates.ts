import { RecentMap } from '@holdfast/platform';
import { AUTHENTICATED_GROUP, type User } from '../identity.ts';
import type { Authenticator } from './port.ts';

/** A verified client certificate: common name = user, organizations = groups. */
export const clientCertificates: Authenticator = {
  authenticate: (request) => {
    const subject = request.connection?.certificateSubject;
    return subject === undefined ? undefined : (remembered.get(subject) ?? userOf(subject));
  },
};

/** Clients send many requests over a connection. */
const remembered = new RecentMap<string, User>(1_000);

function userOf(subject: string): User | undefined {
  const parts = subject.split('\n').map((line) => splitOnce(line));
  const name = parts.find(([key]) => key === 'CN')?.[1];
  if (name === undefined || name === '') return undefined;
  const groups = parts.filter(([key]) => key === 'O').map(([, value]) => value);
  const user = { name, groups: [...groups.filter((group) => group !== AUTHENTICATED_GROUP), AUTHENTICATED_GROUP] };
  remembered.set(subject, user);
  return user;
}

function splitOnce(line: string): readonly [string, string] {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}
