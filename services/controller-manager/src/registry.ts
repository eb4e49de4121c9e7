import type { ResourceRef } from '@holdfast/api';
import type { ControllerDefinition } from './common/context.ts';
import { attachDetachController } from './controllers/attach-detach/index.ts';
import { type ApprovingSettings, certificateApprovingController } from './controllers/certificate-approving/index.ts';
import { certificateCleanerController } from './controllers/certificate-cleaner/index.ts';
import { certificateSigningController, type SigningSettings } from './controllers/certificate-signing/index.ts';
import { claimEphemeralController } from './controllers/claim-ephemeral/index.ts';
import { claimProtectionController } from './controllers/claim-protection/index.ts';
import { clusterRoleAggregationController } from './controllers/cluster-role-aggregation/index.ts';
import { cronJobController } from './controllers/cronjob/index.ts';
import { csiAttacherController } from './controllers/csi-attacher/index.ts';
import { csiProvisionerController } from './controllers/csi-provisioner/index.ts';
import { csiLeftClaimsController } from './controllers/csi-provisioner/left-claims.ts';
import { csiLeftVolumesController } from './controllers/csi-provisioner/left-volumes.ts';
import { csiResizerController } from './controllers/csi-resizer/index.ts';
import { daemonSetController } from './controllers/daemonset/index.ts';
import { deploymentController } from './controllers/deployment/index.ts';
import { disruptionController } from './controllers/disruption/index.ts';
import { endpointSliceController } from './controllers/endpoint-slice/index.ts';
import { endpointSliceMirroringController } from './controllers/endpoint-slice-mirroring/index.ts';
import { endpointsController } from './controllers/endpoints/index.ts';
import {
  type AutoscalerSettings,
  horizontalPodAutoscalerController,
} from './controllers/horizontal-pod-autoscaler/index.ts';
import { jobController } from './controllers/job/index.ts';
import { localPathController } from './controllers/local-path/index.ts';
import { namespaceController } from './controllers/namespace/index.ts';
import { networkPolicyWarningController } from './controllers/network-policy-warning/index.ts';
import { type NodeIpamSettings, nodeIpamController } from './controllers/node-ipam/index.ts';
import { type NodeLifecycleSettings, nodeLifecycleController } from './controllers/node-lifecycle/index.ts';
import { nodeTtlController } from './controllers/node-ttl/index.ts';
import { ownerGarbageController } from './controllers/owner-garbage/index.ts';
import { podGarbageController } from './controllers/pod-garbage/index.ts';
import { replicaSetController } from './controllers/replicaset/index.ts';
import { replicationController } from './controllers/replication-controller/index.ts';
import { resourceQuotaController } from './controllers/resource-quota/index.ts';
import { type RootCaSettings, rootCaController } from './controllers/root-ca/index.ts';
import { type SelfFencingSettings, selfFencingController } from './controllers/self-fencing/index.ts';
import { serviceAccountController } from './controllers/service-account/index.ts';
import { type LoadBalancers, serviceLoadBalancerController } from './controllers/service-load-balancer/index.ts';
import { statefulSetController } from './controllers/statefulset/index.ts';
import { ttlAfterFinishedController } from './controllers/ttl-after-finished/index.ts';
import { volumeBindingController } from './controllers/volume-binding/index.ts';
import { volumeProtectionController } from './controllers/volume-protection/index.ts';
import type { ControllerDriver } from './csi/port.ts';

export interface ControllerSettings
  extends NodeLifecycleSettings,
    SelfFencingSettings,
    RootCaSettings,
    AutoscalerSettings {
  readonly terminatedPodThreshold: number;
  /** Absent: requests wait for manual approval. */
  readonly approving?: ApprovingSettings | undefined;
  /** Absent: nothing is signed. */
  readonly signing?: SigningSettings | undefined;
  /** Absent: nodes get no networks for pods. */
  readonly nodeIpam?: NodeIpamSettings | undefined;
  /** What makes load balancers. Absent: another program gives services of type LoadBalancer their addresses. */
  readonly loadBalancers?: LoadBalancers | undefined;
  /** The controller services of CSI drivers whose helpers are ours, by name. Absent: none. */
  readonly csiDrivers?: ReadonlyMap<string, ControllerDriver>;
  /** A proxy or a network plugin does. */
  readonly networkPoliciesEnforced: boolean;
  /** The kinds that namespaces and owners can contain. */
  readonly resources: readonly ResourceRef[];
}

/** Every controller of this process, in the order in which they start. */
export const allControllers = (settings: ControllerSettings): readonly ControllerDefinition[] => [
  deploymentController,
  replicaSetController,
  replicationController,
  statefulSetController(settings),
  daemonSetController,
  jobController,
  cronJobController,
  ttlAfterFinishedController,
  horizontalPodAutoscalerController(settings),
  nodeLifecycleController(settings),
  ...(settings.nodeIpam === undefined ? [] : [nodeIpamController(settings.nodeIpam)]),
  selfFencingController(settings),
  podGarbageController(settings),
  ownerGarbageController(settings),
  namespaceController(settings),
  serviceAccountController,
  resourceQuotaController(settings),
  disruptionController,
  endpointsController,
  endpointSliceController,
  endpointSliceMirroringController,
  ...(settings.loadBalancers === undefined ? [] : [serviceLoadBalancerController(settings.loadBalancers)]),
  ...(settings.networkPoliciesEnforced ? [] : [networkPolicyWarningController]),
  volumeBindingController,
  localPathController,
  attachDetachController,
  ...csiControllers(settings.csiDrivers),
  volumeProtectionController,
  claimProtectionController,
  claimEphemeralController,
  nodeTtlController,
  certificateCleanerController,
  ...(settings.approving === undefined ? [] : [certificateApprovingController(settings.approving)]),
  ...(settings.signing === undefined ? [] : [certificateSigningController(settings.signing)]),
  clusterRoleAggregationController,
  ...(settings.rootCa === undefined ? [] : [rootCaController({ rootCa: settings.rootCa })]),
];

const csiControllers = (drivers: ReadonlyMap<string, ControllerDriver> = new Map()): readonly ControllerDefinition[] =>
  drivers.size === 0
    ? [csiLeftClaimsController(drivers), csiLeftVolumesController(drivers)]
    : [
        csiLeftClaimsController(drivers),
        csiLeftVolumesController(drivers),
        csiProvisionerController(drivers),
        csiAttacherController(drivers),
        csiResizerController(drivers),
      ];
