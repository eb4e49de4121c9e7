import type { User } from '../authentication/identity.ts';
import type { RequestInfo } from '../http/request-info.ts';

/** Decides whether a user may do something. Authorizers only allow; everything else is refused. */
export interface Authorizer {
  /** The reason for allowing, or `undefined` for no opinion. */
  authorize(user: User, info: RequestInfo): Promise<string | undefined> | string | undefined;
  /** Returns its comment about a refused request. */
  whyNot?(user: User, info: RequestInfo): string | undefined;
}
