import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';
import {
  CERTIFICATE_CONTROLLER,
  CLUSTER_DNS,
  FENCER,
  isOwnController,
  isScheduler,
  POD_GARBAGE_COLLECTOR,
  type User,
} from '../identity.ts';
import type { Authorizer } from './port.ts';

/** What each component of the control plane may do. Admission narrows it further (a kubelet to its own node). */
export const componentRoles: Authorizer = {
  authorize: (user, info) => (info.kind === 'resource' && mayComponent(user, info) ? 'component role' : undefined),
};

function mayComponent(user: User, info: ResourceRequest): boolean {
  if (isScheduler(user)) return maySchedule(info);
  // It may less than other controllers in everything but this.
  if (user.name === CERTIFICATE_CONTROLLER) return mayCertify(info);
  if (isOwnController(user)) return mayControl(info);
  if (user.name === POD_GARBAGE_COLLECTOR)
    return isRead(info) || info.resource === 'pods' || info.resource === 'events';
  if (user.name === FENCER) return mayFence(info);
  if (user.name === CLUSTER_DNS) return isRead(info) && CLUSTER_DNS_READS.has(info.resource);
  return false;
}

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
/** `get` of a stream is a command in somebody's pod, and of a proxy whatever is behind it. */
const isRead = (info: ResourceRequest): boolean =>
  READ_VERBS.has(info.verb) && info.resource !== 'secrets' && !NO_CONTROLLER_WRITES.has(qualified(info));

const WRITE_VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const REMOVAL_VERBS: ReadonlySet<string> = new Set(['delete', 'deletecollection']);

/** Each of these would make a controller somebody else, or judge in its own cause. */
const NO_CONTROLLER_WRITES: ReadonlySet<string> = new Set([
  'serviceaccounts/token',
  'certificatesigningrequests/approval',
  'pods/exec',
  'pods/attach',
  'pods/portforward',
  'pods/proxy',
  'nodes/proxy',
  'services/proxy',
]);

/**
 * Controllers create what their objects' owners could create and remove what owners and namespaces leave behind. Who may end a
 * pod or give up a node is guarded by admission; rights they may only take away, never give: of roles and bindings they update
 * owners and finalizers, and the rules of roles that consist of others, and admission compares.
 */
function mayControl(info: ResourceRequest): boolean {
  if (READ_VERBS.has(info.verb)) return !NO_CONTROLLER_WRITES.has(qualified(info));
  if (!WRITE_VERBS.has(info.verb) || NO_CONTROLLER_WRITES.has(qualified(info))) return false;
  if (info.group !== 'rbac.authorization.k8s.io') return true;
  return REMOVAL_VERBS.has(info.verb) || info.verb === 'update';
}

const CERTIFIER_WRITES: ReadonlySet<string> = new Set([
  'update certificatesigningrequests/approval',
  'update certificatesigningrequests/status',
  'create subjectaccessreviews',
  'create events',
  'patch events',
  'update events',
]);

const APPROVED_FOR: ReadonlySet<string> = new Set(['kubernetes.io/kube-apiserver-client-kubelet']);
const SIGNED_FOR: ReadonlySet<string> = new Set([
  'kubernetes.io/kube-apiserver-client',
  'kubernetes.io/kube-apiserver-client-kubelet',
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/legacy-unknown',
]);

/** What Kubernetes gives its controllers of certificates. Nobody else of the control plane may approve or sign. */
function mayCertify(info: ResourceRequest): boolean {
  if (info.resource === 'signers' && info.group === 'certificates.k8s.io') {
    return (info.verb === 'approve' ? APPROVED_FOR : info.verb === 'sign' ? SIGNED_FOR : NO_SIGNERS).has(info.name);
  }
  return isRead(info) || CERTIFIER_WRITES.has(`${info.verb} ${qualified(info)}`);
}

const NO_SIGNERS: ReadonlySet<string> = new Set();

const FENCER_WRITES: ReadonlySet<string> = new Set([
  'update nodes',
  'update nodes/status',
  'delete nodes',
  'delete pods',
  'update persistentvolumes/status',
  'create events',
  'patch events',
]);

/** Admission narrows it further: pods and attachments only after the fence of their node is confirmed. */
const mayFence = (info: ResourceRequest): boolean =>
  isRead(info) || FENCER_WRITES.has(`${info.verb} ${qualified(info)}`);

const CLUSTER_DNS_READS: ReadonlySet<string> = new Set(['services', 'endpointslices', 'endpoints']);

const SCHEDULER_WRITES: ReadonlySet<string> = new Set([
  'create pods/binding',
  'create bindings',
  'patch pods/status',
  'update pods/status',
  'delete pods',
  // For its own address: who asks, and whether that one may.
  'create tokenreviews',
  'create subjectaccessreviews',
  'create events',
  'patch events',
  'update events',
  'create leases',
  'update leases',
  'patch leases',
  'update persistentvolumeclaims',
  'patch persistentvolumeclaims',
  'update persistentvolumes',
]);

function maySchedule(info: ResourceRequest): boolean {
  return isRead(info) || SCHEDULER_WRITES.has(`${info.verb} ${qualified(info)}`);
}

const qualified = (info: Extract<RequestInfo, { kind: 'resource' }>): string =>
  info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
