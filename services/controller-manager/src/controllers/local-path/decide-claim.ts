import {
  isSingleNodeMode,
  isTerminating,
  LOCAL_PATH_PROVISIONER,
  localPathNode,
  type Node,
  nodeCondition,
  type PersistentVolume,
  type PersistentVolumeClaim,
  SELECTED_NODE_ANNOTATION,
  STORAGE_PROVISIONER_ANNOTATION,
  type StorageClass,
  selectedNodeOf,
} from '@holdfast/api';
import { nameOf, uidOf } from '../../common/meta.ts';
import { buildVolume } from './build-volume.ts';

export interface ClaimSnapshot {
  readonly claim: PersistentVolumeClaim;
  /** Undefined when there is none of that name. */
  readonly storageClass: StorageClass | undefined;
  /** The node that the scheduler selected, or the node of the claim's volume. Undefined when it does not exist. */
  readonly node: Node | undefined;
  /** The volume that the claim names, or the one that has the name of its next volume. */
  readonly volume: PersistentVolume | undefined;
}

export interface LocalPathEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type ClaimAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'report'; readonly event: LocalPathEvent }
  | { readonly kind: 'provision'; readonly volume: PersistentVolume }
  /** Takes the selected node off, so that the scheduler selects again. */
  | { readonly kind: 'reschedule'; readonly claim: PersistentVolumeClaim; readonly event: LocalPathEvent };

const NOTHING: ClaimAction = { kind: 'none' };

/** True when the volume controller asked this provisioner for the claim's volume. */
export const isAskedFor = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[STORAGE_PROVISIONER_ANNOTATION] === LOCAL_PATH_PROVISIONER;

/** Named after the claim: everybody who provisions for it asks for the same name, and create-if-absent lets one through. */
export const volumeNameFor = (claim: PersistentVolumeClaim): string => `pvc-${uidOf(claim)}`;

export function decideClaim(snapshot: ClaimSnapshot): ClaimAction {
  const { claim, storageClass } = snapshot;
  if (!isAskedFor(claim)) return NOTHING;
  if ((claim.spec.volumeName ?? '') !== '') return decideBound(snapshot);
  if (isTerminating(claim) || storageClass?.provisioner !== LOCAL_PATH_PROVISIONER) return NOTHING;
  return decideUnbound({ ...snapshot, storageClass });
}

type Unbound = ClaimSnapshot & { readonly storageClass: StorageClass };

function decideUnbound({ claim, storageClass, node, volume }: Unbound): ClaimAction {
  const refusal = refusalOf(claim, storageClass);
  if (refusal !== undefined) return { kind: 'report', event: failed(storageClass, refusal) };
  const nodeName = selectedNodeOf(claim);
  if (nodeName === undefined) return NOTHING;
  if (volume !== undefined) return isMadeFor(volume, claim) ? NOTHING : nameTaken(storageClass, volume);
  const obstacle = obstacleOf(nodeName, node);
  if (obstacle !== undefined) {
    return { kind: 'reschedule', claim: withoutNode(claim), event: failed(storageClass, obstacle) };
  }
  return node === undefined
    ? NOTHING
    : { kind: 'provision', volume: buildVolume({ name: volumeNameFor(claim), claim, storageClass, node }) };
}

/** Data are on one disk: no other node gets the claim's pod, and no second volume is made. */
function decideBound({ node, volume }: ClaimSnapshot): ClaimAction {
  const nodeName = volume === undefined ? undefined : localPathNode(volume);
  if (volume === undefined || nodeName === undefined || node !== undefined) return NOTHING;
  const message = `The data of volume "${nameOf(volume)}" are on node "${nodeName}", which does not exist any more: pods of this claim wait until that node is back. To give up the data, delete the claim.`;
  return { kind: 'report', event: { type: 'Warning', reason: 'VolumeNodeLost', message } };
}

const isMadeFor = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  spec.claimRef?.uid === uidOf(claim);

const nameTaken = (storageClass: StorageClass, volume: PersistentVolume): ClaimAction => ({
  kind: 'report',
  event: failed(storageClass, `a volume "${nameOf(volume)}" exists that was not made for this claim`),
});

/** Why no node can have the volume. */
function refusalOf({ spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer')
    return 'the class needs volumeBindingMode: WaitForFirstConsumer, because the volume is a directory of the node of its first pod';
  if (Object.keys(storageClass.parameters ?? {}).length > 0) return 'the class has parameters, and there are none';
  if ((storageClass.mountOptions ?? []).length > 0) return 'mountOptions are not supported';
  if (spec.selector !== undefined) return 'claim Selector is not supported';
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined)
    return 'a claim with a dataSource is not supported: the volume begins empty';
  if (spec.volumeMode === 'Block') return 'volumeMode Block is not supported';
  const foreign = (spec.accessModes ?? []).find((mode) => !isSingleNodeMode(mode));
  return foreign === undefined ? undefined : `access mode ${foreign} is not supported: the volume is on one node`;
}

/** Why this node cannot have the volume. */
function obstacleOf(nodeName: string, node: Node | undefined): string | undefined {
  if (node === undefined) return `node "${nodeName}" does not exist`;
  if (nodeCondition(node, 'DiskPressure')?.status === 'True')
    return `node "${nodeName}" has too little free disk space (DiskPressure)`;
  return undefined;
}

function withoutNode(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { [SELECTED_NODE_ANNOTATION]: _node, ...annotations } = claim.metadata.annotations ?? {};
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

const failed = (storageClass: StorageClass, why: string): LocalPathEvent => ({
  type: 'Warning',
  reason: 'ProvisioningFailed',
  message: `failed to provision volume with StorageClass "${nameOf(storageClass)}": ${why}`,
});
