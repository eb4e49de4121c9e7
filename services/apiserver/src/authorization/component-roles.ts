import type { ResourceRequest } from '../http/request-info.ts';
import { COMPONENT_GRANTS, type ComponentGrants } from './component-grants.ts';
import type { Authorizer } from './port.ts';

/** The permissions of each control plane component. Admission restricts them further (a kubelet to its own node). */
export const componentRoles: Authorizer = {
  authorize: (user, info) => {
    if (info.kind !== 'resource') return undefined;
    const grants = COMPONENT_GRANTS.get(user.name);
    return grants !== undefined && isGranted(grants, info) ? 'component role' : undefined;
  },
};

function isGranted(grants: ComponentGrants, info: ResourceRequest): boolean {
  if (info.resource === 'signers' && info.group === 'certificates.k8s.io')
    return grants.signers?.get(info.verb)?.has(info.name) === true;
  if (READ_VERBS.has(info.verb)) return mayRead(grants, info);
  return mayWrite(grants, info.verb, info) || (info.verb === 'patch' && mayWrite(grants, 'update', info));
}

/** A patch can write only what an update can; one that creates an object is also authorized as a create. */
function mayWrite({ writes }: ComponentGrants, verb: string, info: ResourceRequest): boolean {
  if (writes.has(`${verb} ${qualified(info)}`)) return true;
  if (NO_COMPONENT_WRITES.has(info.resource)) return false;
  return writes.has(info.subresource === '' ? `${verb} *` : `${verb} */${info.subresource}`);
}

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Other subresources reach commands in pods, tokens, and targets of proxies. */
const READ_SUBRESOURCES: ReadonlySet<string> = new Set(['', 'status', 'scale']);

function mayRead({ reads }: ComponentGrants, info: ResourceRequest): boolean {
  if (!READ_SUBRESOURCES.has(info.subresource)) return false;
  return reads.has('*') || reads.has(qualified({ ...info, subresource: '' }));
}

/** A wildcard does not reach them: these are acts, not objects. */
const NO_COMPONENT_WRITES: ReadonlySet<string> = new Set(['signers', 'users', 'groups', 'uids', 'userextras']);

/** `deployments/status.apps`; the group comes last, and not for the core group. */
function qualified({ resource, subresource, group }: ResourceRequest): string {
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return group === '' ? whole : `${whole}.${group}`;
}
