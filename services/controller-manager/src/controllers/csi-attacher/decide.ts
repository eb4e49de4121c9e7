import {
  csiSourceOf,
  isTerminating,
  type Lease,
  type Node,
  type PersistentVolume,
  type VolumeAttachment,
} from '@holdfast/api';
import { withFinalizer, withoutFinalizer } from '../../common/finalizers.ts';
import { nameOf } from '../../common/meta.ts';
import type { AttachRequest } from '../../csi/port.ts';
import { formOf } from '../../csi/volume-form.ts';
import { hasLeft } from '../attach-detach/decide-attachments.ts';

/** The node as the driver knows it, as the external attacher writes it: the CSINode may be gone when it is needed. */
export const NODE_ID_ANNOTATION = 'csi.alpha.kubernetes.io/node-id';

/** That of the external attacher. */
export const attacherFinalizer = (driver: string): string => `external-attacher/${driver.replaceAll('.', '-')}`;

export interface AttachmentSnapshot {
  readonly driver: string;
  readonly attachment: VolumeAttachment;
  /** Undefined when it does not exist. */
  readonly volume: PersistentVolume | undefined;
  /** The name of the node in the driver. Undefined while the driver is not registered there. */
  readonly nodeId: string | undefined;
}

export type AttacherAction =
  | { readonly kind: 'nothing' }
  /** The finalizers come first: nothing that the driver was asked is forgotten. */
  | { readonly kind: 'hold'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'hold-volume'; readonly volume: PersistentVolume }
  | { readonly kind: 'attach'; readonly volume: PersistentVolume; readonly request: Omit<AttachRequest, 'secrets'> }
  /** The node is read first: nothing is taken from processes. */
  | { readonly kind: 'detach'; readonly volume: PersistentVolume; readonly volumeId: string; readonly nodeId: string }
  | { readonly kind: 'release'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'report'; readonly error: string };

const NOTHING: AttacherAction = { kind: 'nothing' };

/** One step towards an attached, or a detached, volume. */
export function decideAttachment(snapshot: AttachmentSnapshot): AttacherAction {
  const { attachment, driver } = snapshot;
  if (attachment.spec.attacher !== driver) return NOTHING;
  return isTerminating(attachment) ? decideDetach(snapshot) : decideAttach(snapshot);
}

function decideAttach({ driver, attachment, volume, nodeId }: AttachmentSnapshot): AttacherAction {
  if (attachment.status.attached) return NOTHING;
  const source = volume === undefined ? undefined : csiSourceOf(volume);
  if (volume === undefined || source === undefined) return missing(attachment);
  if (source.driver !== driver) return { kind: 'report', error: `the volume belongs to driver ${source.driver}` };
  if (isTerminating(volume)) return { kind: 'report', error: `the volume "${nameOf(volume)}" is being deleted` };
  if (nodeId === undefined) {
    const error = `driver ${driver} is not registered on node "${attachment.spec.nodeName}"`;
    return { kind: 'report', error };
  }
  const held = withNodeId(withFinalizer(attachment, attacherFinalizer(driver)) ?? attachment, nodeId);
  if (held !== attachment) return { kind: 'hold', attachment: held };
  const kept = withFinalizer(volume, attacherFinalizer(driver));
  if (kept !== undefined) return { kind: 'hold-volume', volume: kept };
  const request = {
    volumeId: source.volumeHandle,
    nodeId,
    form: formOf(volume),
    readOnly: source.readOnly === true,
    context: source.volumeAttributes ?? {},
  };
  return { kind: 'attach', volume, request };
}

function decideDetach({ driver, attachment, volume, nodeId }: AttachmentSnapshot): AttacherAction {
  const free = withoutFinalizer(attachment, attacherFinalizer(driver));
  if (free === undefined) return NOTHING;
  const source = volume === undefined ? undefined : csiSourceOf(volume);
  if (volume === undefined || source === undefined) return missing(attachment);
  const id = attachment.metadata.annotations?.[NODE_ID_ANNOTATION] ?? nodeId;
  // Without its id the driver was never asked.
  if (id === undefined) return { kind: 'release', attachment: free };
  return { kind: 'detach', volume, volumeId: source.volumeHandle, nodeId: id };
}

const missing = ({ spec }: VolumeAttachment): AttacherAction => ({
  kind: 'report',
  error: `persistentvolume "${spec.source.persistentVolumeName ?? ''}" with a CSI volume not found`,
});

function withNodeId(attachment: VolumeAttachment, nodeId: string): VolumeAttachment {
  const { annotations } = attachment.metadata;
  if (annotations?.[NODE_ID_ANNOTATION] === nodeId) return attachment;
  return {
    ...attachment,
    metadata: { ...attachment.metadata, annotations: { ...annotations, [NODE_ID_ANNOTATION]: nodeId } },
  };
}

/** Why the driver may not take the volume from the node; undefined when it may. `node` and `lease` are current reads. */
export function obstacleToDetach(
  volume: PersistentVolume,
  at: { readonly name: string; readonly node: Node | undefined; readonly lease: Lease | undefined },
): string | undefined {
  if (hasLeft(volume, at.node, at.lease)) return undefined;
  return `node "${at.name}" still uses volume "${nameOf(volume)}": end its pods there; when the machine is switched off for certain, taint the node with node.kubernetes.io/out-of-service=:NoExecute`;
}

/** A volume that is being deleted and attached nowhere any more; undefined: nothing is to be done. */
export function releasedVolume(
  driver: string,
  volume: PersistentVolume,
  attachments: readonly VolumeAttachment[],
): PersistentVolume | undefined {
  if (!isTerminating(volume) || attachments.length > 0) return undefined;
  return withoutFinalizer(volume, attacherFinalizer(driver));
}
