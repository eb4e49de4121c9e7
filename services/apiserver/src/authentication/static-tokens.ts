import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiRequest } from '@holdfast/client';
import { OperatorError } from '@holdfast/platform';
import { bearerToken } from './bearer-token.ts';
import { AUTHENTICATED_GROUP, type User } from './identity.ts';
import type { Authenticator } from './port.ts';

/** Token to user, as in the token file of kube-apiserver. Users may be added later. */
export type StaticTokens = ReadonlyMap<string, User>;

export function createStaticTokenAuthenticator(tokens: StaticTokens): Authenticator {
  // Looked up by digest, so that the lookup time reveals nothing about the token.
  const read = () => new Map([...tokens].map(([token, user]) => [digest(token), { token, user }]));
  let byDigest = read();
  const verified = new Map<string, User>();
  return {
    authenticate: (request: ApiRequest) => {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const known = verified.get(token);
      if (known !== undefined) return known;
      if (byDigest.size !== tokens.size) byDigest = read();
      const entry = byDigest.get(digest(token));
      if (entry === undefined || !sameText(entry.token, token)) return undefined;
      const user = authenticated(entry.user);
      // Bounded by the token file; keyed by a hash that is seeded for each process, like any text that is looked up.
      verified.set(token, user);
      return user;
    },
  };
}

function authenticated(user: User): User {
  return user.groups.includes(AUTHENTICATED_GROUP) ? user : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64');

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Reads lines of `token,user,uid,"group1,group2"`. */
export function parseTokenFile(text: string, file: string): StaticTokens {
  const tokens = new Map<string, User>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [token = '', name = '', uid = '', groups = ''] = splitCsv(line.trim());
    if (token === '' || name === '') {
      throw new OperatorError({
        code: 'TOKEN_FILE',
        message: `${file}, line ${index + 1}: a token and a user name are needed.`,
        nextStep: 'Write lines of the form token,user,uid,"group1,group2".',
      });
    }
    const listed = groups.split(',').map((group) => group.trim());
    tokens.set(token, { name, uid, groups: listed.filter((group) => group !== '') });
  }
  return tokens;
}

function splitCsv(line: string): string[] {
  return [...line.matchAll(/"((?:[^"]|"")*)"|([^,]+)|(?<=,|^)(?=,|$)/g)].map(
    (match) => match[1]?.replaceAll('""', '"') ?? match[2]?.trim() ?? '',
  );
}
