import type { ApiRequest } from '@holdfast/client';
import { unauthorized } from '@holdfast/machinery';
import { bearerToken } from './bearer-token.ts';
import { ANONYMOUS, type User } from './identity.ts';
import type { Authenticator } from './port.ts';

/**
 * The first method that recognizes the credentials decides, synchronously if possible; without any, the user is
 * anonymous.
 */
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
