/** Names with a meaning in Kubernetes. A name that more than one file needs is defined only here. */

/** Labels of nodes. */
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
export const ZONE_LABEL = 'topology.kubernetes.io/zone';
export const REGION_LABEL = 'topology.kubernetes.io/region';
export const ARCH_LABEL = 'kubernetes.io/arch';
export const OS_LABEL = 'kubernetes.io/os';
export const INSTANCE_TYPE_LABEL = 'node.kubernetes.io/instance-type';

/** The older names of these labels. */
export const OLD_ZONE_LABEL = 'failure-domain.beta.kubernetes.io/zone';
export const OLD_REGION_LABEL = 'failure-domain.beta.kubernetes.io/region';
export const OLD_ARCH_LABEL = 'beta.kubernetes.io/arch';
export const OLD_OS_LABEL = 'beta.kubernetes.io/os';
export const OLD_INSTANCE_TYPE_LABEL = 'beta.kubernetes.io/instance-type';

/** Annotations of nodes. */
export const AVOID_PODS_ANNOTATION = 'scheduler.alpha.kubernetes.io/preferAvoidPods';

/** Taints that mirror the Ready condition of a node. */
export const UNREACHABLE_TAINT = 'node.kubernetes.io/unreachable';
export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';

/** Taints that mirror another condition of a node, or `spec.unschedulable`. */
export const MEMORY_PRESSURE_TAINT = 'node.kubernetes.io/memory-pressure';
export const DISK_PRESSURE_TAINT = 'node.kubernetes.io/disk-pressure';
export const PID_PRESSURE_TAINT = 'node.kubernetes.io/pid-pressure';
export const NETWORK_UNAVAILABLE_TAINT = 'node.kubernetes.io/network-unavailable';
export const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';

/** A person or program confirmed that nothing runs on the machine any more. */
export const OUT_OF_SERVICE_TAINT = 'node.kubernetes.io/out-of-service';

/** Annotations of pods. A mirror pod is the API object of a static pod. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';
export const SECCOMP_POD_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';

/** Annotation of Deployments and their ReplicaSets. */
export const DEPLOYMENT_REVISION_ANNOTATION = 'deployment.kubernetes.io/revision';

/** Labels and annotations of the pods of a Job. */
export const JOB_UID_LABEL = 'batch.kubernetes.io/controller-uid';
export const JOB_NAME_LABEL = 'batch.kubernetes.io/job-name';
export const COMPLETION_INDEX_ANNOTATION = 'batch.kubernetes.io/job-completion-index';

/** Services and their endpoints. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
export const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';
export const OVER_CAPACITY_ANNOTATION = 'endpoints.kubernetes.io/over-capacity';
export const TOPOLOGY_MODE_ANNOTATION = 'service.kubernetes.io/topology-mode';
/** The older name of the same. */
export const TOPOLOGY_HINTS_ANNOTATION = 'service.kubernetes.io/topology-aware-hints';
export const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

/** Volumes, claims and storage classes. */
export const VOLUME_FINALIZER = 'kubernetes.io/pv-protection';
export const CLAIM_FINALIZER = 'kubernetes.io/pvc-protection';
export const STORAGE_CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
export const DEFAULT_CLASS_ANNOTATION = 'storageclass.kubernetes.io/is-default-class';
export const OLD_DEFAULT_CLASS_ANNOTATION = 'storageclass.beta.kubernetes.io/is-default-class';
export const MOUNT_OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';
export const SELECTED_NODE_ANNOTATION = 'volume.kubernetes.io/selected-node';
export const BIND_COMPLETED_ANNOTATION = 'pv.kubernetes.io/bind-completed';
export const BOUND_BY_CONTROLLER_ANNOTATION = 'pv.kubernetes.io/bound-by-controller';
export const NO_PROVISIONER = 'kubernetes.io/no-provisioner';
export const STORAGE_PROVISIONER_ANNOTATION = 'volume.kubernetes.io/storage-provisioner';
export const PROVISIONED_BY_ANNOTATION = 'pv.kubernetes.io/provisioned-by';

/** Volumes that are directories of a node. The provisioner's name is that of the CSI driver in the volumes as well. */
export const LOCAL_PATH_PROVISIONER = 'local-path.holdfast.io';
export const LOCAL_PATH_NODE_LABEL = 'local-path.holdfast.io/node';
export const LOCAL_PATH_FINALIZER = 'local-path.holdfast.io/directory';

/** Secrets and service accounts. */
export const ACCOUNT_TOKEN_SECRET = 'kubernetes.io/service-account-token';
export const TLS_SECRET = 'kubernetes.io/tls';
export const ACCOUNT_NAME_ANNOTATION = 'kubernetes.io/service-account.name';
export const MOUNTABLE_SECRETS_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';

/** Signers of certificates. */
export const API_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';

/** The CSI driver name of volumes of the project's own storage server. Kubelets use them without a CSI driver. */
export const STORAGE_SERVER_DRIVER = 'storage.holdfast.io';

/** On the bookmark that ends the initial events of a streamed list. */
export const INITIAL_EVENTS_END_ANNOTATION = 'k8s.io/initial-events-end';
