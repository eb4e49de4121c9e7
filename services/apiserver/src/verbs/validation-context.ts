import type { Requester, ValidationContext } from '@holdfast/api';
import type { User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

/** The request facts for validation: time and user. */
export const validationContext = (core: Core, { user, warn }: ResourceContext): ValidationContext => ({
  now: core.clock.now(),
  requester: requesterOf(user),
  features: core.features,
  rules: core.rules,
  warn,
});

function requesterOf({ name, uid, groups, extra }: User): Requester {
  if ((uid === undefined || uid === '') && extra === undefined) return { username: name, groups };
  return {
    username: name,
    groups,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}
