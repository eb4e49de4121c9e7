import type { User } from '../authentication/identity.ts';
import type { RequestInfo } from '../http/request-info.ts';

/** May this user do that? Authorizers only ever allow: what nobody allows is refused. */
export interface Authorizer {
  /** The reason for allowing, or `undefined` for no opinion. */
  authorize(user: User, info: RequestInfo): Promise<string | undefined> | string | undefined;
  /** What it has to say of a request that nobody allows. */
  whyNot?(user: User, info: RequestInfo): string | undefined;
}
