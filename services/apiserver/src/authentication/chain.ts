import type { ApiRequest } from '@holdfast/client';
import { unauthorized } from '@holdfast/machinery';
import { bearerToken } from './bearer-token.ts';
import { ANONYMOUS, type User } from './identity.ts';
import type { Authenticator } from './port.ts';

/** The first method that recognises the credentials decides, at once where it can; none at all is the anonymous user. */
export function authenticate(methods: readonly Authenticator[], request: ApiRequest): User | Promise<User> {
  for (let i = 0; i < methods.length; i++) {
    const found = methods[i]?.authenticate(request);
    if (found instanceof Promise) return found.then((user) => user ?? authenticate(methods.slice(i + 1), request));
    if (found !== undefined) return found;
  }
  if (bearerToken(request) !== undefined || showsForeignCertificate(request)) throw unauthorized();
  return ANONYMOUS;
}

const showsForeignCertificate = ({ connection }: ApiRequest): boolean => connection?.clientCertificate === '';
