import { apiServiceResource } from './kinds/api-service/index.ts';
import { certificateSigningRequestResource } from './kinds/certificate-signing-request/index.ts';
import { clusterRoleResource } from './kinds/cluster-role/index.ts';
import { clusterRoleBindingResource } from './kinds/cluster-role-binding/index.ts';
import { configMapResource } from './kinds/config-map/index.ts';
import { controllerRevisionResource } from './kinds/controller-revision/index.ts';
import { cronJobResource } from './kinds/cron-job/index.ts';
import { csiDriverResource } from './kinds/csi-driver/index.ts';
import { csiNodeResource } from './kinds/csi-node/index.ts';
import { csiStorageCapacityResource } from './kinds/csi-storage-capacity/index.ts';
import { customResourceDefinitionResource } from './kinds/custom-resource-definition/index.ts';
import { daemonSetResource } from './kinds/daemon-set/index.ts';
import { deploymentResource } from './kinds/deployment/index.ts';
import { endpointSliceResource } from './kinds/endpoint-slice/index.ts';
import { endpointsResource } from './kinds/endpoints/index.ts';
import { eventResource } from './kinds/event/index.ts';
import { eventsEventResource } from './kinds/events-event/index.ts';
import { flowSchemaResource } from './kinds/flow-schema/index.ts';
import { horizontalPodAutoscalerResource } from './kinds/horizontal-pod-autoscaler/index.ts';
import { horizontalPodAutoscalerV1Resource } from './kinds/horizontal-pod-autoscaler-v1/index.ts';
import { ingressResource } from './kinds/ingress/index.ts';
import { ingressClassResource } from './kinds/ingress-class/index.ts';
import { jobResource } from './kinds/job/index.ts';
import { leaseResource } from './kinds/lease/index.ts';
import { limitRangeResource } from './kinds/limit-range/index.ts';
import { mutatingWebhookConfigurationResource } from './kinds/mutating-webhook-configuration/index.ts';
import { namespaceResource } from './kinds/namespace/index.ts';
import { networkPolicyResource } from './kinds/network-policy/index.ts';
import { nodeResource } from './kinds/node/index.ts';
import { persistentVolumeResource } from './kinds/persistent-volume/index.ts';
import { persistentVolumeClaimResource } from './kinds/persistent-volume-claim/index.ts';
import { podResource } from './kinds/pod/index.ts';
import { podDisruptionBudgetResource } from './kinds/pod-disruption-budget/index.ts';
import { podTemplateResource } from './kinds/pod-template/index.ts';
import { priorityClassResource } from './kinds/priority-class/index.ts';
import { priorityLevelConfigurationResource } from './kinds/priority-level-configuration/index.ts';
import { replicaSetResource } from './kinds/replica-set/index.ts';
import { replicationControllerResource } from './kinds/replication-controller/index.ts';
import { resourceQuotaResource } from './kinds/resource-quota/index.ts';
import { roleResource } from './kinds/role/index.ts';
import { roleBindingResource } from './kinds/role-binding/index.ts';
import { runtimeClassResource } from './kinds/runtime-class/index.ts';
import { secretResource } from './kinds/secret/index.ts';
import { serviceResource } from './kinds/service/index.ts';
import { serviceAccountResource } from './kinds/service-account/index.ts';
import { statefulSetResource } from './kinds/stateful-set/index.ts';
import { storageClassResource } from './kinds/storage-class/index.ts';
import { validatingAdmissionPolicyResource } from './kinds/validating-admission-policy/index.ts';
import { validatingAdmissionPolicyBindingResource } from './kinds/validating-admission-policy-binding/index.ts';
import { validatingWebhookConfigurationResource } from './kinds/validating-webhook-configuration/index.ts';
import { volumeAttachmentResource } from './kinds/volume-attachment/index.ts';
import type { KubeObject, ResourceDefinition } from './resource.ts';

/**
 * The only place that erases a kind's type. The pipeline decodes an object by the schema of the same definition that it
 * passes the object to, so each definition sees only objects of its own kind.
 */
const erased = <T extends KubeObject>(definition: ResourceDefinition<T>): ResourceDefinition =>
  definition as unknown as ResourceDefinition;

const RESOURCES: readonly ResourceDefinition[] = [
  erased(configMapResource),
  erased(eventResource),
  erased(namespaceResource),
  erased(nodeResource),
  erased(podResource),
  erased(deploymentResource),
  erased(replicaSetResource),
  erased(statefulSetResource),
  erased(leaseResource),
  erased(secretResource),
  erased(serviceAccountResource),
  erased(serviceResource),
  erased(persistentVolumeClaimResource),
  erased(persistentVolumeResource),
  erased(storageClassResource),
  erased(daemonSetResource),
  erased(jobResource),
  erased(cronJobResource),
  erased(replicationControllerResource),
  erased(podTemplateResource),
  erased(podDisruptionBudgetResource),
  erased(priorityClassResource),
  erased(controllerRevisionResource),
  erased(certificateSigningRequestResource),
  erased(clusterRoleResource),
  erased(clusterRoleBindingResource),
  erased(csiDriverResource),
  erased(csiNodeResource),
  erased(csiStorageCapacityResource),
  erased(endpointSliceResource),
  erased(endpointsResource),
  erased(eventsEventResource),
  erased(horizontalPodAutoscalerResource),
  erased(horizontalPodAutoscalerV1Resource),
  erased(ingressResource),
  erased(ingressClassResource),
  erased(limitRangeResource),
  erased(mutatingWebhookConfigurationResource),
  erased(networkPolicyResource),
  erased(resourceQuotaResource),
  erased(roleResource),
  erased(roleBindingResource),
  erased(runtimeClassResource),
  erased(validatingAdmissionPolicyResource),
  erased(validatingAdmissionPolicyBindingResource),
  erased(validatingWebhookConfigurationResource),
  erased(volumeAttachmentResource),
  erased(apiServiceResource),
  erased(customResourceDefinitionResource),
  erased(flowSchemaResource),
  erased(priorityLevelConfigurationResource),
];

/** Few plurals belong to more than one kind. */
const BY_PLURAL: ReadonlyMap<string, readonly ResourceDefinition[]> = Map.groupBy(RESOURCES, ({ plural }) => plural);

/** Returns the kind served at a path; `undefined` when this API does not serve it. */
export const findResource = (group: string, version: string, plural: string): ResourceDefinition | undefined =>
  BY_PLURAL.get(plural)?.find((each) => each.group === group && each.version === version);

/** Returns every served kind in a fixed order. */
export const allResources = (): readonly ResourceDefinition[] => RESOURCES;
