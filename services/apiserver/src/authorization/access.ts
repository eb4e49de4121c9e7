import type { Authenticator } from '../authentication/port.ts';
import type { ServiceAccountTokens } from '../tokens/service-account-tokens.ts';
import type { Authorizer } from './port.ts';
import type { Rbac } from './rbac.ts';

/** Authentication and authorization. */
export interface Access {
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  readonly rbac: Rbac;
  /** Absent where no service account tokens are issued. */
  readonly tokens: ServiceAccountTokens | undefined;
}
