import { allResources, schemaFor } from '@holdfast/api';

/**
 * Versions that Kubernetes 1.32 still reads although it serves them nowhere: such a document is of the wrong version, any other
 * of a kind that nobody knows.
 */
const NO_LONGER_SERVED: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    'apps/v1beta1': ['ControllerRevision', 'Deployment', 'Scale', 'StatefulSet'],
    'apps/v1beta2': ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'Scale', 'StatefulSet'],
    'extensions/v1beta1': ['DaemonSet', 'Deployment', 'Ingress', 'NetworkPolicy', 'ReplicaSet', 'Scale'],
    'networking.k8s.io/v1alpha1': ['IPAddress', 'ServiceCIDR'],
    'networking.k8s.io/v1beta1': ['Ingress', 'IngressClass', 'IPAddress', 'ServiceCIDR'],
    'batch/v1beta1': ['CronJob'],
    'policy/v1beta1': ['Eviction', 'PodDisruptionBudget'],
    'autoscaling/v2beta1': ['HorizontalPodAutoscaler'],
    'autoscaling/v2beta2': ['HorizontalPodAutoscaler'],
    'rbac.authorization.k8s.io/v1alpha1': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    'rbac.authorization.k8s.io/v1beta1': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    'scheduling.k8s.io/v1alpha1': ['PriorityClass'],
    'scheduling.k8s.io/v1beta1': ['PriorityClass'],
    'storage.k8s.io/v1alpha1': ['CSIStorageCapacity', 'VolumeAttachment', 'VolumeAttributesClass'],
    'storage.k8s.io/v1beta1': [
      'CSIDriver',
      'CSINode',
      'CSIStorageCapacity',
      'StorageClass',
      'VolumeAttachment',
      'VolumeAttributesClass',
    ],
    'discovery.k8s.io/v1beta1': ['EndpointSlice'],
    'events.k8s.io/v1beta1': ['Event'],
    'coordination.k8s.io/v1beta1': ['Lease'],
    'node.k8s.io/v1alpha1': ['RuntimeClass'],
    'node.k8s.io/v1beta1': ['RuntimeClass'],
    'flowcontrol.apiserver.k8s.io/v1beta1': ['FlowSchema', 'PriorityLevelConfiguration'],
    'flowcontrol.apiserver.k8s.io/v1beta2': ['FlowSchema', 'PriorityLevelConfiguration'],
    'flowcontrol.apiserver.k8s.io/v1beta3': ['FlowSchema', 'PriorityLevelConfiguration'],
    'admissionregistration.k8s.io/v1alpha1': ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    'admissionregistration.k8s.io/v1beta1': [
      'MutatingWebhookConfiguration',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
      'ValidatingWebhookConfiguration',
    ],
    'certificates.k8s.io/v1beta1': ['CertificateSigningRequest'],
    'authentication.k8s.io/v1beta1': ['SelfSubjectReview', 'TokenReview'],
    'authorization.k8s.io/v1beta1': [
      'LocalSubjectAccessReview',
      'SelfSubjectAccessReview',
      'SelfSubjectRulesReview',
      'SubjectAccessReview',
    ],
  }),
);

export function isKnownKind(apiVersion: string, kind: string): boolean {
  if (NO_LONGER_SERVED.get(apiVersion)?.includes(kind) === true) return true;
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const isServed = allResources().some(
    (each) => each.kind === kind && each.group === group && each.version === version,
  );
  return isServed || (isGroup(group ?? '') && schemaFor(group ?? '', version ?? '', kind) !== undefined);
}

/** Field tables are found by the beginning of a group's name alone. */
const isGroup = (name: string): boolean => NEVER_STORED.has(name) || allResources().some(({ group }) => group === name);

const NEVER_STORED: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/** Kubernetes' message about an unknown kind names the file of its scheme. */
export const notRegistered = (apiVersion: string, kind: string): string =>
  `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`;
