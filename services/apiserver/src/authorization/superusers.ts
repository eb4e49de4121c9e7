import { MASTERS_GROUP } from '../authentication/identity.ts';
import type { Authorizer } from './port.ts';

/** Members of `system:masters` may do everything; nothing can take that away, so a broken policy can be mended. */
export const superusers: Authorizer = {
  authorize: (user) => (user.groups.includes(MASTERS_GROUP) ? 'member of system:masters' : undefined),
};
