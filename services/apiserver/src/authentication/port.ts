import type { ApiRequest } from '@holdfast/client';
import type { User } from './identity.ts';

/** Finds out who sent a request. */
export interface Authenticator {
  /** `undefined` = this method found no credentials of its kind. Throws 401 for credentials that are wrong. */
  authenticate(request: ApiRequest): Promise<User | undefined> | User | undefined;
}
