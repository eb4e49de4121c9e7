/** The authenticated user of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
export const MASTERS_GROUP = 'system:masters';
export const NODES_GROUP = 'system:nodes';
export const AUTHENTICATED_GROUP = 'system:authenticated';
/** This server's certificate name towards aggregated servers. */
export const FRONT_PROXY_NAME = 'front-proxy-client';
/** The extra field that identifies the credential. */
export const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
export const POD_GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:pod-garbage-collector';
/** The identity of cluster DNS, as in Kubernetes. */
export const CLUSTER_DNS = 'system:serviceaccount:kube-system:kube-dns';
/** Approves and signs certificate requests, as in Kubernetes. */
export const CERTIFICATE_CONTROLLER = 'system:serviceaccount:kube-system:certificate-controller';
export const FENCER = 'system:holdfast:fencer';

const NODE_PREFIX = 'system:node:';
export const CONTROLLER_MANAGER = 'system:kube-controller-manager';
export const SCHEDULER = 'system:kube-scheduler';
const CONTROLLER_ACCOUNT = /^system:serviceaccount:kube-system:([a-z0-9-]+-controller|generic-garbage-collector)$/;

/** Returns the node that this identity is limited to; `undefined` for others. */
export function nodeOf(user: User): string | undefined {
  return user.name.startsWith(NODE_PREFIX) && user.groups.includes(NODES_GROUP)
    ? user.name.slice(NODE_PREFIX.length)
    : undefined;
}

export const isScheduler = (user: User): boolean => user.name === SCHEDULER;

/**
 * True for control plane identities and similar names: they may request a pod's end but cannot know that it has ended.
 */
export const isController = (user: User): boolean =>
  user.name === CONTROLLER_MANAGER || isScheduler(user) || CONTROLLER_ACCOUNT.test(user.name);

const CONTROLLERS_OF_KUBERNETES: ReadonlySet<string> = new Set(
  [
    'attachdetach-controller certificate-controller clusterrole-aggregation-controller cronjob-controller daemon-set-controller',
    'deployment-controller disruption-controller endpoint-controller endpointslice-controller',
    'endpointslicemirroring-controller ephemeral-volume-controller expand-controller generic-garbage-collector',
    'job-controller namespace-controller node-controller pv-protection-controller pvc-protection-controller',
    'replicaset-controller replication-controller resource-claim-controller resourcequota-controller route-controller',
    'selinux-warning-controller service-account-controller service-cidrs-controller service-controller',
    'statefulset-controller taint-eviction-controller ttl-after-finished-controller ttl-controller',
    'validatingadmissionpolicy-status-controller',
  ]
    .flatMap((line) => line.split(' '))
    .map((name) => `system:serviceaccount:kube-system:${name}`),
);

/** True for a controller with built-in permissions. Similarly named add-ons have only their roles. */
export const isOwnController = (user: User): boolean =>
  user.name === CONTROLLER_MANAGER || CONTROLLERS_OF_KUBERNETES.has(user.name);

/** The API server itself, for what it creates at its start. */
export const API_SERVER: User = { name: 'system:apiserver', groups: [MASTERS_GROUP] };

const SYSTEM_COMPONENTS: ReadonlySet<string> = new Set([
  API_SERVER.name,
  SCHEDULER,
  POD_GARBAGE_COLLECTOR,
  CLUSTER_DNS,
  CERTIFICATE_CONTROLLER,
  FENCER,
]);

/** True for the components that keep the cluster alive: the control plane and the kubelets. */
export const isSystemComponent = (user: User): boolean =>
  SYSTEM_COMPONENTS.has(user.name) || isOwnController(user) || nodeOf(user) !== undefined;
