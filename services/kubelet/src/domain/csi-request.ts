import {
  type CSIDriver,
  type CSIPersistentVolumeSource,
  type CSIVolumeSource,
  csiSourceOf,
  MOUNT_OPTIONS_ANNOTATION,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from '@holdfast/api';
import { ownValue, parseQuantity, value } from '@holdfast/machinery';

/** A Secret whose entries a driver gets. */
export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
}

/** What a pod wants of a CSI driver on this node. */
export interface CsiRequest {
  /** The name of the PersistentVolume, or that of an inline volume. */
  readonly name: string;
  readonly driver: string;
  /** The kubelet is the driver: there is no CSIDriver object. */
  readonly isBuiltIn?: boolean;
  /** Its name in the pod, and its claim: statistics say them. */
  readonly podVolume?: string;
  readonly claim?: string;
  /** One node at a time uses the volume. */
  readonly isExclusive?: boolean;
  readonly volumeId: string;
  readonly readOnly: boolean;
  readonly accessModes: readonly string[];
  readonly volumeMode: string;
  readonly fsType: string | undefined;
  readonly mountOptions: readonly string[];
  readonly context: Readonly<Record<string, string>>;
  readonly stageSecret?: SecretPlace | undefined;
  readonly publishSecret?: SecretPlace | undefined;
  readonly expandSecret?: SecretPlace | undefined;
  /** Absent: an inline volume, which ends with its pod. */
  readonly source?: CSIPersistentVolumeSource | undefined;
}

/** `undefined`: no CSI driver serves the volume. */
export function requestOfVolume(volume: PersistentVolume, readOnly: boolean): CsiRequest | undefined {
  const source = csiSourceOf(volume);
  if (source === undefined) return undefined;
  const { accessModes = [], volumeMode = 'Filesystem' } = volume.spec;
  return {
    name: volume.metadata.name ?? '',
    driver: source.driver,
    volumeId: source.volumeHandle,
    // Only the pod's own wish: the access mode ReadOnlyMany is part of the capability.
    readOnly: readOnly || source.readOnly === true,
    accessModes,
    volumeMode,
    fsType: source.fsType,
    mountOptions: mountOptionsOf(volume),
    context: source.volumeAttributes ?? {},
    stageSecret: placeOf(source.nodeStageSecretRef),
    publishSecret: placeOf(source.nodePublishSecretRef),
    expandSecret: placeOf(source.nodeExpandSecretRef),
    source,
  };
}

/** The handle of an inline volume is made up, as in Kubernetes: no other pod and no later pod has it. */
export function requestOfInline(pod: Pod, name: string, source: CSIVolumeSource): CsiRequest {
  const { namespace = '', uid = '' } = pod.metadata;
  const secret = source.nodePublishSecretRef?.name;
  return {
    name,
    podVolume: name,
    driver: source.driver,
    volumeId: `csi-${uid}-${name}`,
    readOnly: source.readOnly === true,
    accessModes: ['ReadWriteOnce'],
    volumeMode: 'Filesystem',
    fsType: source.fsType,
    mountOptions: [],
    context: source.volumeAttributes ?? {},
    publishSecret: secret === undefined ? undefined : { namespace, name: secret },
  };
}

function placeOf(reference: { readonly namespace?: string; readonly name?: string } | undefined) {
  return reference === undefined ? undefined : { namespace: reference.namespace ?? '', name: reference.name ?? '' };
}

/** The annotation is older than the field, and counts as in Kubernetes. */
export function mountOptionsOf({ metadata, spec }: PersistentVolume): readonly string[] {
  const old = ownValue(metadata.annotations, MOUNT_OPTIONS_ANNOTATION);
  return old === undefined || old === '' ? (spec.mountOptions ?? []) : old.split(',');
}

/** What the driver's CSIDriver object adds to the context of a volume: facts about the pod, as in Kubernetes. */
export function podContext(
  pod: Pod,
  driver: CSIDriver | undefined,
  isInline: boolean,
): Readonly<Record<string, string>> {
  if (driver?.spec.podInfoOnMount !== true) return {};
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return {
    'csi.storage.k8s.io/pod.name': name,
    'csi.storage.k8s.io/pod.namespace': namespace,
    'csi.storage.k8s.io/pod.uid': uid,
    'csi.storage.k8s.io/serviceAccount.name': pod.spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(isInline),
  };
}

/**
 * True when the node gives the files of the volume to the pod's group, by the policy of the CSIDriver as in Kubernetes: by
 * default only those of a file system that one node uses.
 */
export function takesGroup(request: CsiRequest, driver: CSIDriver | undefined): boolean {
  const { readOnly, fsType = '', accessModes, source, volumeMode } = request;
  const policy = driver?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (readOnly || volumeMode === 'Block' || policy === 'None') return false;
  if (policy === 'File') return true;
  const isSingle = accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
  return source !== undefined && fsType !== '' && isSingle;
}

const RESIZE_PENDING = 'FileSystemResizePending';

/**
 * The size to which this node has to expand the file system of a mounted volume; `undefined`: nothing is due. The
 * controller has expanded the volume and set the condition.
 */
export function expansionDue(volume: PersistentVolume, claim: PersistentVolumeClaim): number | undefined {
  const isPending = claim.status.conditions?.some(({ type, status }) => type === RESIZE_PENDING && status === 'True');
  if (isPending !== true) return undefined;
  const bytes = bytesOf(volume.spec.capacity);
  return bytes > bytesOf(claim.status.capacity) ? bytes : undefined;
}

const bytesOf = (resources: Readonly<Record<string, string>> | undefined): number =>
  value(parseQuantity(ownValue(resources, 'storage') ?? '0'));

/** The status of a claim after this node has expanded its file system. */
export function expandedClaim(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const {
    conditions = [],
    capacity,
    allocatedResources: _asked,
    allocatedResourceStatuses: _stages,
    ...status
  } = claim.status;
  const left = conditions.filter(({ type }) => type !== RESIZE_PENDING && type !== 'Resizing');
  return {
    ...claim,
    status: {
      ...status,
      ...(left.length === 0 ? {} : { conditions: left }),
      capacity: { ...capacity, storage: ownValue(volume.spec.capacity, 'storage') ?? '0' },
    },
  };
}
