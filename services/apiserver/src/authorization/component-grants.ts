import { KUBELET_CLIENT_SIGNER } from '@holdfast/api';
import {
  CERTIFICATE_CONTROLLER,
  CLUSTER_DNS,
  CONTROLLER_MANAGER,
  FENCER,
  POD_GARBAGE_COLLECTOR,
  SCHEDULER,
} from '../authentication/identity.ts';

/** The permissions of one control plane component, each with the part that uses it. */
export interface ComponentGrants {
  /** Resources that it gets, lists and watches, as `resource.group`; `*` for all. */
  readonly reads: ReadonlySet<string>;
  /** `verb resource[/subresource][.group]`, and its user. `*` stands for every resource without subresources. */
  readonly writes: ReadonlyMap<string, string>;
  /** Certificate signers, by verb. */
  readonly signers?: ReadonlyMap<string, ReadonlySet<string>>;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''));

const RECORDS_EVENTS: readonly (readonly [string, string])[] = [
  ['create events', 'event recorder'],
  ['patch events', 'event recorder: a series'],
];

const ASKS_WHO: readonly (readonly [string, string])[] = [
  ['create tokenreviews.authentication.k8s.io', 'who asks its status address'],
  ['create subjectaccessreviews.authorization.k8s.io', 'whether that one may'],
];

/**
 * Controllers create what their owners could create, and remove what owners and namespaces leave behind. Updates of kinds that
 * no controller keeps are limited by admission to owners and finalizers (`OwnersOnly`).
 */
const MANAGER: ComponentGrants = {
  reads: words('*'),
  writes: new Map([
    ...RECORDS_EVENTS,
    ['create leases.coordination.k8s.io', 'leader election'],
    ['create pods', 'ReplicaSets, StatefulSets, DaemonSets, Jobs'],
    ['create replicasets.apps', 'Deployments'],
    ['create controllerrevisions.apps', 'histories of StatefulSets and DaemonSets'],
    ['create jobs.batch', 'CronJobs'],
    ['create persistentvolumeclaims', 'templates of StatefulSets, ephemeral volumes'],
    ['create persistentvolumes', 'volumes of the provisioners'],
    ['create volumeattachments.storage.k8s.io', 'volumes of CSI drivers'],
    ['create endpoints', 'endpoints of services'],
    ['create endpointslices.discovery.k8s.io', 'slices of services'],
    ['create configmaps', 'kube-root-ca.crt of each namespace'],
    ['create serviceaccounts', 'the account default of each namespace'],
    ['update *', 'kinds that controllers keep; owners and finalizers of all others'],
    ['update */scale', 'autoscaler'],
    ['delete *', 'garbage collection and ends of namespaces'],
    ['update pods/status', 'node lifecycle, disruption'],
    ['update nodes/status', 'node lifecycle'],
    ['update namespaces/status', 'ends of namespaces'],
    ['update namespaces/finalize', 'ends of namespaces'],
    ['update resourcequotas/status', 'counts'],
    ['update replicationcontrollers/status', 'counts'],
    ['update replicasets/status.apps', 'counts'],
    ['update deployments/status.apps', 'counts'],
    ['update statefulsets/status.apps', 'counts'],
    ['update daemonsets/status.apps', 'counts'],
    ['update jobs/status.batch', 'counts'],
    ['update cronjobs/status.batch', 'active Jobs'],
    ['update horizontalpodautoscalers/status.autoscaling', 'metrics'],
    ['update poddisruptionbudgets/status.policy', 'counts'],
    ['update persistentvolumes/status', 'phase and attachment'],
    ['update volumeattachments/status.storage.k8s.io', 'what CSI drivers answer'],
    ['update services/status', 'addresses of load balancers'],
    ['update persistentvolumeclaims/status', 'phase and capacity'],
  ]),
};

/** Kinds whose content controllers change, besides owners and finalizers: `resource.group`. */
export const KEPT_BY_CONTROLLERS: ReadonlySet<string> = words(`
  clusterroles.rbac.authorization.k8s.io configmaps controllerrevisions.apps endpoints endpointslices.discovery.k8s.io
  events leases.coordination.k8s.io nodes persistentvolumeclaims persistentvolumes pods replicasets.apps
  volumeattachments.storage.k8s.io
`);

const POD_GC: ComponentGrants = {
  reads: words('pods nodes'),
  writes: new Map([
    ...RECORDS_EVENTS,
    ['delete pods', 'pods of nodes that are gone, unbound and finished ones'],
    ['update pods/status', 'says why the pod failed before it goes'],
  ]),
};

const CERTIFIER: ComponentGrants = {
  reads: words('certificatesigningrequests.certificates.k8s.io'),
  writes: new Map([
    ...RECORDS_EVENTS,
    ['update certificatesigningrequests/approval.certificates.k8s.io', 'approves kubelets'],
    ['update certificatesigningrequests/status.certificates.k8s.io', 'signs'],
    ['create subjectaccessreviews.authorization.k8s.io', 'whether who asked may have it approved'],
  ]),
  signers: new Map([
    ['approve', words(KUBELET_CLIENT_SIGNER)],
    [
      'sign',
      words(`kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving
        kubernetes.io/legacy-unknown`),
    ],
  ]),
};

const SCHEDULING: ComponentGrants = {
  reads: words(`
    csidrivers.storage.k8s.io csinodes.storage.k8s.io csistoragecapacities.storage.k8s.io leases.coordination.k8s.io
    namespaces nodes persistentvolumeclaims persistentvolumes poddisruptionbudgets.policy pods replicasets.apps
    replicationcontrollers services statefulsets.apps storageclasses.storage.k8s.io volumeattachments.storage.k8s.io
  `),
  writes: new Map([
    ...RECORDS_EVENTS,
    ...ASKS_WHO,
    ['create pods/binding', 'binds'],
    ['patch pods/status', 'conditions and nominated nodes'],
    ['delete pods', 'preemption'],
    ['create leases.coordination.k8s.io', 'leader election'],
    ['update leases.coordination.k8s.io', 'leader election'],
    ['update persistentvolumeclaims', 'volumes of pods that are placed'],
    ['update persistentvolumes', 'volumes of pods that are placed'],
  ]),
};

/** Admission narrows it further: pods and attachments only after the fence of their node is confirmed. */
const FENCING: ComponentGrants = {
  reads: words('nodes pods persistentvolumes poddisruptionbudgets.policy'),
  writes: new Map([
    ...RECORDS_EVENTS,
    ['update nodes', 'claims, marks and taints'],
    ['update nodes/status', 'the condition Fenced'],
    ['delete nodes', 'gives up a node whose fence is confirmed, as people do by hand'],
    ['delete pods', 'pods of a fenced node'],
    ['update persistentvolumes/status', 'attachments of a fenced node'],
  ]),
};

const NAMES: ComponentGrants = {
  reads: words('services endpointslices.discovery.k8s.io endpoints'),
  writes: new Map(),
};

/** By user name. No other control plane identity has permissions without a role. */
export const COMPONENT_GRANTS: ReadonlyMap<string, ComponentGrants> = new Map([
  [CONTROLLER_MANAGER, MANAGER],
  [POD_GARBAGE_COLLECTOR, POD_GC],
  [CERTIFICATE_CONTROLLER, CERTIFIER],
  [SCHEDULER, SCHEDULING],
  [FENCER, FENCING],
  [CLUSTER_DNS, NAMES],
]);
