import type { ValidationContext } from '@holdfast/api';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

/** What validation may know of the request: when it came and from whom. */
export function validationContext(core: Core, { user }: ResourceContext): ValidationContext {
  const { name, uid, groups, extra } = user;
  const requester = {
    username: name,
    groups,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
  return { now: core.clock.now(), requester, features: core.features };
}
