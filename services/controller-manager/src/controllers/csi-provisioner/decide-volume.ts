import {
  isTerminating,
  isVolumeInUse,
  type Node,
  type PersistentVolume,
  PROVISIONED_BY_ANNOTATION,
  type VolumeAttachment,
} from '@holdfast/api';
import { withFinalizer, withoutFinalizer } from '../../common/finalizers.ts';
import { nameOf } from '../../common/meta.ts';
import { PROVISIONER_FINALIZER } from './names.ts';

export interface VolumeSnapshot {
  readonly driver: string;
  readonly volume: PersistentVolume;
  readonly attachments: readonly VolumeAttachment[];
  readonly nodes: readonly Node[];
}

export type VolumeAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'update'; readonly volume: PersistentVolume }
  /** Marks the object as being deleted: no claim gets it any more. The finalizer keeps it. */
  | { readonly kind: 'delete-object' }
  /** Something may still use it. */
  | { readonly kind: 'wait' }
  /** The driver deletes its volume; then the finalizer goes. */
  | { readonly kind: 'delete-volume' };

const NOTHING: VolumeAction = { kind: 'none' };

/** True for volumes that this provisioner made for the driver. */
export const isProvisionedBy = ({ metadata, spec }: PersistentVolume, driver: string): boolean =>
  metadata.annotations?.[PROVISIONED_BY_ANNOTATION] === driver && spec.csi?.driver === driver;

/** One step of a volume: what is released with the policy Delete is deleted by its driver, and never before it is unused. */
export function decideVolume(snapshot: VolumeSnapshot): VolumeAction {
  const { volume, driver } = snapshot;
  if (!isProvisionedBy(volume, driver)) return NOTHING;
  const isDeletable = volume.spec.persistentVolumeReclaimPolicy === 'Delete';
  const free = withoutFinalizer(volume, PROVISIONER_FINALIZER);
  if (isTerminating(volume)) {
    if (free === undefined || volume.status.phase === 'Bound') return NOTHING;
    if (!isDeletable) return { kind: 'update', volume: free };
    // Others, such as the attacher, say with their finalizers that they are not done with it.
    const isAlone = (free.metadata.finalizers ?? []).length === 0;
    return isUsed(snapshot) || !isAlone ? { kind: 'wait' } : { kind: 'delete-volume' };
  }
  if (!isDeletable) return free === undefined ? NOTHING : { kind: 'update', volume: free };
  const held = withFinalizer(volume, PROVISIONER_FINALIZER);
  if (held !== undefined) return { kind: 'update', volume: held };
  return volume.status.phase === 'Released' ? { kind: 'delete-object' } : NOTHING;
}

const isUsed = ({ volume, attachments, nodes }: VolumeSnapshot): boolean =>
  volume.status.attachment !== undefined ||
  attachments.some(({ spec }) => spec.source.persistentVolumeName === nameOf(volume)) ||
  nodes.some(({ status }) => isVolumeInUse(nameOf(volume), status.volumesInUse ?? []));
