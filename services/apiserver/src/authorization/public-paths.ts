import { AUTHENTICATED_GROUP, type User } from '../authentication/identity.ts';
import { isHistoryPath } from '../http/history-path.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import type { Authorizer } from './port.ts';

/** For every method that probes use. */
const PROBED = /^\/(healthz|livez|readyz)(\/|$)/;
const VERSION = /^\/version\/?$/;
const DISCOVERY = /^\/(api|apis|openapi)(\/|$)/;

const ABOUT_ONESELF: ReadonlySet<string> = new Set([
  'authentication.k8s.io/selfsubjectreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
]);

const asksAboutOneself = (user: User, info: ResourceRequest): boolean =>
  info.verb === 'create' &&
  user.groups.includes(AUTHENTICATED_GROUP) &&
  ABOUT_ONESELF.has(`${info.group}/${info.resource}`);

/** Health and version for probes without credentials; discovery and self-reviews for every authenticated user. */
export const publicPaths: Authorizer = {
  authorize: (user, info) => {
    if (info.kind === 'resource') return asksAboutOneself(user, info) ? 'own rights' : undefined;
    if (PROBED.test(info.path)) return 'probe';
    if (info.verb !== 'get') return undefined;
    if (VERSION.test(info.path)) return 'public path';
    if (!user.groups.includes(AUTHENTICATED_GROUP)) return undefined;
    if (isHistoryPath(info.path)) return 'history of what the user may read';
    return DISCOVERY.test(info.path) ? 'discovery' : undefined;
  },
};
