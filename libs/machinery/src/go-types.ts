import { isNumeric, isWhole } from './exact-json.ts';
import { isJsonArray, isJsonObject, type Json, jsonTypeName, ownValue } from './json.ts';
import type { ScalarType, Schema } from './schema.ts';

/**
 * Fields whose Go type has its own name. The OpenAPI document does not contain it, but a decoder's error message does:
 * `... of type v1.RestartPolicy`. For a list it is the name of the item type.
 */
const NAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'apps.v1.DaemonSetUpdateStrategy': { type: 'v1.DaemonSetUpdateStrategyType' },
  'apps.v1.DeploymentStrategy': { type: 'v1.DeploymentStrategyType' },
  'apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy': {
    whenDeleted: 'v1.PersistentVolumeClaimRetentionPolicyType',
    whenScaled: 'v1.PersistentVolumeClaimRetentionPolicyType',
  },
  'apps.v1.StatefulSetSpec': { podManagementPolicy: 'v1.PodManagementPolicyType' },
  'apps.v1.StatefulSetUpdateStrategy': { type: 'v1.StatefulSetUpdateStrategyType' },
  'batch.v1.CronJobSpec': { concurrencyPolicy: 'v1.ConcurrencyPolicy' },
  'batch.v1.JobSpec': { completionMode: 'v1.CompletionMode', podReplacementPolicy: 'v1.PodReplacementPolicy' },
  'core.v1.Capabilities': { add: 'v1.Capability', drop: 'v1.Capability' },
  'core.v1.Container': {
    imagePullPolicy: 'v1.PullPolicy',
    restartPolicy: 'v1.ContainerRestartPolicy',
    terminationMessagePolicy: 'v1.TerminationMessagePolicy',
  },
  'core.v1.ContainerPort': { protocol: 'v1.Protocol' },
  'core.v1.EmptyDirVolumeSource': { medium: 'v1.StorageMedium' },
  'core.v1.EphemeralContainer': {
    imagePullPolicy: 'v1.PullPolicy',
    restartPolicy: 'v1.ContainerRestartPolicy',
    terminationMessagePolicy: 'v1.TerminationMessagePolicy',
  },
  'core.v1.HTTPGetAction': { scheme: 'v1.URIScheme' },
  'core.v1.HostPathVolumeSource': { type: 'v1.HostPathType' },
  'core.v1.LimitRangeItem': {
    type: 'v1.LimitType',
    default: 'v1.ResourceList',
    defaultRequest: 'v1.ResourceList',
    max: 'v1.ResourceList',
    maxLimitRequestRatio: 'v1.ResourceList',
    min: 'v1.ResourceList',
  },
  'core.v1.NamespaceSpec': { finalizers: 'v1.FinalizerName' },
  'core.v1.NamespaceStatus': { phase: 'v1.NamespacePhase' },
  'core.v1.NodeCondition': { status: 'v1.ConditionStatus', type: 'v1.NodeConditionType' },
  'core.v1.NodeSelectorRequirement': { operator: 'v1.NodeSelectorOperator' },
  'core.v1.NodeStatus': { allocatable: 'v1.ResourceList', capacity: 'v1.ResourceList' },
  'core.v1.ObjectReference': { uid: 'types.UID' },
  'core.v1.PersistentVolumeClaimSpec': {
    accessModes: 'v1.PersistentVolumeAccessMode',
    volumeMode: 'v1.PersistentVolumeMode',
  },
  'core.v1.PersistentVolumeSpec': {
    accessModes: 'v1.PersistentVolumeAccessMode',
    capacity: 'v1.ResourceList',
    persistentVolumeReclaimPolicy: 'v1.PersistentVolumeReclaimPolicy',
    volumeMode: 'v1.PersistentVolumeMode',
  },
  'core.v1.PodCondition': { status: 'v1.ConditionStatus', type: 'v1.PodConditionType' },
  'core.v1.PodSpec': {
    dnsPolicy: 'v1.DNSPolicy',
    overhead: 'v1.ResourceList',
    preemptionPolicy: 'v1.PreemptionPolicy',
    restartPolicy: 'v1.RestartPolicy',
  },
  'core.v1.PodStatus': { phase: 'v1.PodPhase', qosClass: 'v1.PodQOSClass' },
  'core.v1.ResourceQuotaSpec': { hard: 'v1.ResourceList', scopes: 'v1.ResourceQuotaScope' },
  'core.v1.ResourceRequirements': { limits: 'v1.ResourceList', requests: 'v1.ResourceList' },
  'core.v1.SeccompProfile': { type: 'v1.SeccompProfileType' },
  'core.v1.Secret': { type: 'v1.SecretType' },
  'core.v1.ServicePort': { protocol: 'v1.Protocol' },
  'core.v1.ServiceSpec': {
    externalTrafficPolicy: 'v1.ServiceExternalTrafficPolicy',
    internalTrafficPolicy: 'v1.ServiceInternalTrafficPolicy',
    ipFamilies: 'v1.IPFamily',
    ipFamilyPolicy: 'v1.IPFamilyPolicy',
    sessionAffinity: 'v1.ServiceAffinity',
    type: 'v1.ServiceType',
  },
  'core.v1.Taint': { effect: 'v1.TaintEffect' },
  'core.v1.Toleration': { effect: 'v1.TaintEffect', operator: 'v1.TolerationOperator' },
  'core.v1.TopologySpreadConstraint': { whenUnsatisfiable: 'v1.UnsatisfiableConstraintAction' },
  'core.v1.VolumeMount': { mountPropagation: 'v1.MountPropagationMode' },
  'core.v1.VolumeResourceRequirements': { limits: 'v1.ResourceList', requests: 'v1.ResourceList' },
  'meta.v1.DeleteOptions': { propagationPolicy: 'v1.DeletionPropagation' },
  'meta.v1.LabelSelectorRequirement': { operator: 'v1.LabelSelectorOperator' },
  'meta.v1.ObjectMeta': { uid: 'types.UID' },
  'meta.v1.OwnerReference': { uid: 'types.UID' },
  'meta.v1.Preconditions': { uid: 'types.UID' },
  'networking.v1.HTTPIngressPath': { pathType: 'v1.PathType' },
  'networking.v1.NetworkPolicyPort': { protocol: 'v1.Protocol' },
  'networking.v1.NetworkPolicySpec': { policyTypes: 'v1.PolicyType' },
  'policy.v1.PodDisruptionBudgetSpec': { unhealthyPodEvictionPolicy: 'v1.UnhealthyPodEvictionPolicyType' },
  'scheduling.v1.PriorityClass': { preemptionPolicy: 'v1.PreemptionPolicy' },
  'storage.v1.StorageClass': {
    reclaimPolicy: 'v1.PersistentVolumeReclaimPolicy',
    volumeBindingMode: 'v1.VolumeBindingMode',
  },
};

export function namedGoType(struct: string, field: string): string | undefined {
  const fields = Object.hasOwn(NAMED, struct) ? NAMED[struct] : undefined;
  return fields !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined;
}

const GO_SCALARS: Readonly<Record<ScalarType, string>> = {
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  number: 'float64',
  quantity: 'resource.Quantity',
  intOrString: 'int32',
  time: 'string',
  microTime: 'string',
  bytes: '[]uint8',
};

/** Returns the type name that Go's decoder prints. */
export function goType(schema: Schema): string {
  switch (schema.kind) {
    case 'scalar':
      return GO_SCALARS[schema.scalar];
    case 'struct':
      return schema.name.split('.').slice(-2).join('.');
    case 'map':
      return `map[string]${goType(schema.values())}`;
    case 'list':
      return `[]${goType(schema.items())}`;
    case 'any':
      return 'interface {}';
  }
}

/** Types with their own JSON decoder, and the type that it decodes into. */
const SELF_READING: ReadonlySet<ScalarType> = new Set(['intOrString', 'time', 'microTime']);

/** Explains why a value cannot become a field of this type, in the words of Kubernetes' converter. */
export function converterError(value: Json, schema: Schema): string {
  switch (schema.kind) {
    case 'struct':
      return `cannot restore struct from: ${goKind(value)}`;
    case 'map':
      return `cannot restore map from ${goKind(value)}`;
    case 'list':
      return `cannot restore slice from ${goKind(value)}`;
    case 'any':
      return `unrecognized type: ${goKind(value)}`;
    case 'scalar':
      return scalarConverterError(value, schema.scalar);
  }
}

function scalarConverterError(value: Json, scalar: ScalarType): string {
  const target = GO_SCALARS[scalar];
  if (SELF_READING.has(scalar)) return `json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${target}`;
  if (scalar === 'bytes') return `cannot restore slice from ${goKind(value)}`;
  const convertible = isNumeric(value) && (scalar === 'string' ? isWhole(value) : scalar !== 'boolean');
  return convertible ? `cannot convert ${goKind(value)} to ${target}` : `unrecognized type: ${target}`;
}

/** Returns Go's kind of a decoded JSON value. */
function goKind(value: Json): string {
  if (isJsonArray(value)) return 'slice';
  if (isJsonObject(value)) return 'map';
  if (isNumeric(value)) return isWhole(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** Formats a decoded JSON value as Go does: `map[image:b name:a]`. */
export function printGo(value: Json | undefined): string {
  if (value === undefined || value === null) return '<nil>';
  if (isJsonArray(value)) return `[${value.map(printGo).join(' ')}]`;
  if (!isJsonObject(value)) return String(value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${key}:${printGo(ownValue(value, key))}`);
  return `map[${pairs.join(' ')}]`;
}

/** Returns Go's type of a decoded JSON value. */
export function goInterfaceType(value: Json): string {
  if (isJsonArray(value)) return '[]interface {}';
  if (isJsonObject(value)) return 'map[string]interface {}';
  if (isNumeric(value)) return isWhole(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
