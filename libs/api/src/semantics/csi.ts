import { createHash } from 'node:crypto';
import type { CSIDriver, CSIPersistentVolumeSource, PersistentVolume, VolumeAttachment } from '../generated/types.ts';
import { isTerminating } from './pods.ts';
import { LOCAL_PATH_PROVISIONER, STORAGE_SERVER_DRIVER } from './well-known.ts';

/** Drivers that kubelets implement themselves: no process answers for them on a CSI socket. */
const BUILT_IN: ReadonlySet<string> = new Set([LOCAL_PATH_PROVISIONER, STORAGE_SERVER_DRIVER]);

/** Returns the source of a volume that a CSI driver serves; `undefined` for all other volumes. */
export function csiSourceOf({ spec }: Pick<PersistentVolume, 'spec'>): CSIPersistentVolumeSource | undefined {
  const { csi } = spec;
  return csi === undefined || BUILT_IN.has(csi.driver) ? undefined : csi;
}

/** True when a volume of the driver needs a VolumeAttachment. As in Kubernetes, this is so without a CSIDriver object. */
export const isAttachRequired = (driver: Pick<CSIDriver, 'spec'> | undefined): boolean =>
  driver?.spec.attachRequired !== false;

/** The name of the VolumeAttachment of a volume and a node, as in Kubernetes: both sides compute it. */
export function volumeAttachmentName(
  { driver, volumeHandle }: Pick<CSIPersistentVolumeSource, 'driver' | 'volumeHandle'>,
  nodeName: string,
): string {
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}

/** On a VolumeAttachment that is about to go: no pod starts with it any more. Its controller reads the node after that. */
export const DETACHING_ANNOTATION = 'holdfast.io/detaching';

/** True when the driver has attached the volume and no detach has begun. */
export const isAttached = (attachment: VolumeAttachment): boolean =>
  attachment.status.attached && !isTerminating(attachment) && !isDetaching(attachment);

export const isDetaching = ({ metadata }: Pick<VolumeAttachment, 'metadata'>): boolean =>
  metadata.annotations?.[DETACHING_ANNOTATION] !== undefined;

/** Entry that kubelets of Kubernetes write into `status.volumesInUse` for a volume of a CSI driver. */
export const csiVolumeInUse = ({
  driver,
  volumeHandle,
}: Pick<CSIPersistentVolumeSource, 'driver' | 'volumeHandle'>): string => `kubernetes.io/csi/${driver}^${volumeHandle}`;
