/**
 * The behaviour of a kind beyond storing, defaulting, validating and printing. A kind that is not listed is stored
 * without further effect.
 */
export const BEHAVIOUR: Readonly<Record<string, string>> = {
  'v1/Namespace': 'made Active; deletion removes everything in it, gracefully, with honest conditions',
  'v1/Node': 'kept by its kubelet; lifecycle controller (heartbeats, taints, eviction); TTL advice',
  'v1/Pod':
    'scheduler, kubelet, pod garbage collector, node lifecycle; logs and streams are answered by the kubelet of its node',
  'v1/Secret':
    'environment and volumes of containers; those of the type for tokens of service accounts get one; encrypted at rest where configured, also with keys of a KMS v2 plugin',
  'v1/ConfigMap': 'environment and volumes of containers; `kube-root-ca.crt` is published to every namespace',
  'v1/Service':
    'gets its address, node ports and health check port; routed in the private network of process pods, and as root for containers; on an embedded cluster with process nodes or containers, type LoadBalancer gets a loopback address that the machine reaches, and `--expose` opens node ports (TCP)',
  'v1/LimitRange': 'admission of pods and claims: defaults, bounds, ratios',
  'v1/ResourceQuota': 'admission, counted in the same write as the object; resource quota controller',
  'v1/ComponentStatus': 'answers for the store',
  'node.k8s.io/v1/RuntimeClass': 'admission of pods: overhead, node selector, tolerations',
  'storage.k8s.io/v1/CSINode': 'written by the kubelet for the drivers that register with it',
  'storage.k8s.io/v1/CSIDriver':
    'read by the kubelet: attachment, pod information, inline volumes; attach/detach controller',
  'storage.k8s.io/v1/VolumeAttachment':
    'attach/detach controller: one for each volume of a CSI driver and node; done by the attacher of the driver, or by ours (`--csi-drivers`)',
  'networking.k8s.io/v1/NetworkPolicy':
    'enforced by the packet filter in the private network of process pods (`--pod-network=private`), and as root for containers; elsewhere each policy gets the event `PolicyNotEnforced`',
  'networking.k8s.io/v1/IngressClass': 'the default class is set on ingresses that name none',
  'autoscaling/v1/HorizontalPodAutoscaler': 'the other form of the v2 object',
  'autoscaling/v2/HorizontalPodAutoscaler':
    'autoscaler: Resource and ContainerResource metrics from the kubelets; metrics of pods, objects and from outside have no API here',
  'certificates.k8s.io/v1/CertificateSigningRequest':
    'admission: who may approve and sign; kubelets approve themselves when they may; signed for the four signers of Kubernetes; old ones are cleaned up',
  'v1/ServiceAccount': '`default` in every namespace; bound tokens; admission of pods',
  'v1/Event': 'counted up by their writers; removed after an hour',
  'apps/v1/ReplicaSet': 'replicaset controller',
  'apps/v1/Deployment': 'deployment controller: rolling update, recreate, pause, revisions, progress deadline',
  'apps/v1/StatefulSet':
    'statefulset controller: ordered and parallel, at most one pod per name, rolling update, partition, retention of claims',
  'v1/ReplicationController': 'replicationcontroller controller',
  'batch/v1/Job':
    'job controller: exact counts, indexes, backoff, failure and success policies, suspension; ttl-after-finished',
  'batch/v1/CronJob': 'cronjob controller: schedules in time zones, concurrency, deadlines, history',
  'apps/v1/DaemonSet': 'daemonset controller: rolling update with surge',
  'apps/v1/ControllerRevision': 'history of StatefulSets and DaemonSets',
  'coordination.k8s.io/v1/Lease': 'heartbeats of nodes; leader election',
  'policy/v1/PodDisruptionBudget': 'counted by the disruption controller; evictions spend from it',
  'scheduling.k8s.io/v1/PriorityClass': 'admission of pods; preemption',
  'rbac.authorization.k8s.io/v1/Role': 'authorization, with protection against escalation',
  'rbac.authorization.k8s.io/v1/RoleBinding': 'authorization, with protection against escalation',
  'rbac.authorization.k8s.io/v1/ClusterRole': 'authorization, with protection against escalation; aggregation',
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': 'authorization, with protection against escalation',
  'storage.k8s.io/v1/StorageClass':
    'the default class is set on claims that name none; says whether a claim waits for its pod; a new cluster has "standard", whose volumes are directories of the nodes',
  'v1/PersistentVolume':
    'binder, protection while bound; disks without a lock of their own are attached to one node at a time; volumes of the class "standard" are made and removed ([how](decisions/0014-local-path-volumes.md)), those of CSI drivers with `--csi-drivers`; others are kept when released',
  'v1/PersistentVolumeClaim':
    'binder, local-path provisioner, CSI drivers with `--csi-drivers` (made and expanded), protection while a pod uses it; made for ephemeral volumes',
  'apiextensions.k8s.io/v1/CustomResourceDefinition': 'its kind is served ([what works](extending.md))',
  'apiregistration.k8s.io/v1/APIService':
    'requests for its group-version are forwarded to its service ([how](internals/aggregation.md))',
  'admissionregistration.k8s.io/v1/MutatingWebhookConfiguration': 'its webhooks are called before objects are stored',
  'admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration': 'its webhooks are called before objects are stored',
  'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy':
    'judges requests where it is bound; warnings of wrong types stand in its status',
  'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding': 'puts a policy to work: denies and warns',
  'v1/Endpoints': 'follow services and their pods; those that users write are mirrored into slices',
  'flowcontrol.apiserver.k8s.io/v1/FlowSchema': 'decides in which flow and at which priority level a request waits',
  'flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration':
    'shares, queues and lending of seats; each API server has its own',
  'discovery.k8s.io/v1/EndpointSlice': 'follow services and their pods, or Endpoints that users write',
};

/** Routes that discovery names, as in Kubernetes, and that answer an honest 501. */
export const NOT_IMPLEMENTED: ReadonlySet<string> = new Set();
