import {
  isTerminating,
  type PersistentVolume,
  type PersistentVolumeClaim,
  SELECTED_NODE_ANNOTATION,
  STORAGE_PROVISIONER_ANNOTATION,
  type StorageClass,
  selectedNodeOf,
  storageClassOf,
} from '@holdfast/api';
import { withFinalizer, withoutFinalizer } from '../../common/finalizers.ts';
import { nameOf, uidOf } from '../../common/meta.ts';
import { PROVISIONING_FINALIZER, type ProvisionerEvent } from './names.ts';

export interface ClaimSnapshot {
  readonly driver: string;
  readonly claim: PersistentVolumeClaim;
  /** Undefined when there is none of that name. */
  readonly storageClass: StorageClass | undefined;
  /** The node that the scheduler selected exists. */
  readonly nodeExists: boolean;
  /** The volume with the name of the claim's next volume. */
  readonly volume: PersistentVolume | undefined;
}

export type ClaimAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'report'; readonly event: ProvisionerEvent }
  /** Adds the finalizer before the driver is asked, or removes it when the answer is stored. */
  | { readonly kind: 'hold' | 'let-go'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'provision'; readonly storageClass: StorageClass }
  /** Takes the selected node off, so that the scheduler selects again. */
  | { readonly kind: 'reschedule'; readonly claim: PersistentVolumeClaim; readonly event: ProvisionerEvent };

const NOTHING: ClaimAction = { kind: 'none' };

/** The driver that the volume controller asked for the claim's volume. */
export const provisionerOf = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[STORAGE_PROVISIONER_ANNOTATION];

/**
 * One step towards the claim's volume. A claim that is deleted while its driver may have made a volume is kept until that
 * volume has an object, which then is reclaimed like any other: nothing that a driver made is forgotten.
 */
export function decideClaim(snapshot: ClaimSnapshot): ClaimAction {
  const { claim, driver, volume, storageClass } = snapshot;
  if (provisionerOf(claim) !== driver) return NOTHING;
  if ((claim.spec.volumeName ?? '') !== '') return letGo(claim);
  if (volume !== undefined) return isMadeFor(volume, claim) ? letGo(claim) : nameTaken(claim, volume);
  if (isTerminating(claim) && !isHeld(claim)) return NOTHING;
  if (storageClass === undefined) return isHeld(claim) ? classGone(claim, 'does not exist any more') : NOTHING;
  if (storageClass.provisioner !== driver)
    return isHeld(claim) ? classGone(claim, 'names another driver now') : NOTHING;
  return decideUnbound({ ...snapshot, storageClass });
}

/** The driver may have been asked for a volume, and the answer is not stored. */
export const isHeld = (claim: PersistentVolumeClaim): boolean =>
  claim.metadata.finalizers?.includes(PROVISIONING_FINALIZER) === true;

/** The same for a claim whose driver has nobody here who asks it: only what is certain without it is done. */
export function decideLeft(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): ClaimAction {
  if (!isHeld(claim)) return NOTHING;
  const isStored = volume !== undefined && isMadeFor(volume, claim);
  return isStored || (claim.spec.volumeName ?? '') !== '' ? letGo(claim) : driverLeft(claim);
}

function decideUnbound({
  claim,
  storageClass,
  nodeExists,
}: ClaimSnapshot & { readonly storageClass: StorageClass }): ClaimAction {
  const refusal = refusalOf(claim);
  if (refusal !== undefined) return isHeld(claim) ? letGo(claim) : { kind: 'report', event: failed(claim, refusal) };
  const nodeName = selectedNodeOf(claim);
  if (!isTerminating(claim)) {
    if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && nodeName === undefined) return NOTHING;
    if (nodeName !== undefined && !nodeExists) return rescheduled(claim, `node "${nodeName}" does not exist`);
  }
  const held = withFinalizer(claim, PROVISIONING_FINALIZER);
  return held === undefined ? { kind: 'provision', storageClass } : { kind: 'hold', claim: held };
}

export function letGo(claim: PersistentVolumeClaim): ClaimAction {
  const free = withoutFinalizer(claim, PROVISIONING_FINALIZER);
  return free === undefined ? NOTHING : { kind: 'let-go', claim: free };
}

export function rescheduled(claim: PersistentVolumeClaim, why: string): ClaimAction {
  const { [SELECTED_NODE_ANNOTATION]: _node, ...annotations } = claim.metadata.annotations ?? {};
  const next = { ...claim, metadata: { ...claim.metadata, annotations } };
  return { kind: 'reschedule', claim: next, event: failed(claim, why) };
}

const isMadeFor = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  spec.claimRef?.uid === uidOf(claim);

const nameTaken = (claim: PersistentVolumeClaim, volume: PersistentVolume): ClaimAction => ({
  kind: 'report',
  event: failed(claim, `a volume "${nameOf(volume)}" exists that was not made for this claim`),
});

const classGone = (claim: PersistentVolumeClaim, why: string): ClaimAction => ({
  kind: 'report',
  event: failed(
    claim,
    `the class ${why}, and the driver may have made a volume pvc-${uidOf(claim)}: create the class again; or delete that volume by hand, and take the finalizer ${PROVISIONING_FINALIZER} off the claim`,
  ),
});

const driverLeft = (claim: PersistentVolumeClaim): ClaimAction => ({
  kind: 'report',
  event: failed(
    claim,
    `--csi-drivers of the controller manager does not name the driver ${provisionerOf(claim) ?? 'of the claim'} any more, which may have made a volume pvc-${uidOf(claim)}: name it again; or delete that volume by hand, and take the finalizer ${PROVISIONING_FINALIZER} off the claim`,
  ),
});

/** What no driver is asked for. */
function refusalOf({ spec }: PersistentVolumeClaim): string | undefined {
  const kind = spec.dataSourceRef?.kind ?? spec.dataSource?.kind;
  if (kind === 'VolumeSnapshot')
    return 'snapshots are not supported: create the claim without dataSource and restore the data from a pod';
  if (kind !== undefined)
    return `a dataSource of kind ${kind} is not supported: create the claim without it and copy the data from a pod`;
  return spec.selector === undefined ? undefined : 'claim Selector is not supported: remove it from the claim';
}

export const failed = (claim: PersistentVolumeClaim, why: string): ProvisionerEvent => ({
  type: 'Warning',
  reason: 'ProvisioningFailed',
  message: `failed to provision volume with StorageClass "${storageClassOf(claim)}": ${why}`,
});
