import type { ApiRequest } from '@holdfast/client';
import { unauthorized } from '@holdfast/machinery';
import { ANONYMOUS, type User } from '../identity.ts';
import { bearerToken } from './bearer-token.ts';
import type { Authenticator } from './port.ts';

/** The first method that recognises the credentials decides; none at all is the anonymous user. */
export async function authenticate(methods: readonly Authenticator[], request: ApiRequest): Promise<User> {
  for (const method of methods) {
    const found = method.authenticate(request);
    const user = found instanceof Promise ? await found : found;
    if (user !== undefined) return user;
  }
  if (bearerToken(request) !== undefined) throw unauthorized();
  return ANONYMOUS;
}
