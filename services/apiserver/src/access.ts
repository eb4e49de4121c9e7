import type { Authenticator } from './authentication/port.ts';
import type { Authorizer } from './authorization/port.ts';
import type { Rbac } from './authorization/rbac.ts';
import type { ServiceAccountTokens } from './tokens/service-account-tokens.ts';

/** Who is who, and who may do what. */
export interface Access {
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  readonly rbac: Rbac;
  /** Absent where no service account tokens are issued. */
  readonly tokens: ServiceAccountTokens | undefined;
}
