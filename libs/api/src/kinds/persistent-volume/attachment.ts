import type { PersistentVolume } from '../../generated/types.ts';
import { csiSourceOf } from '../../semantics/csi.ts';
import { isOnStorageServer } from './storage-server.ts';

const SHARED_MODES: ReadonlySet<string> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

/**
 * True when the volume is attached to one node at a time through its status: volumes that several machines can write to
 * at once, those of the project's storage server, which counts on the number of each attachment, and those of CSI
 * drivers. A driver may refuse a second node by itself, but not every driver has an attach step.
 */
export function needsAttach({ spec }: Pick<PersistentVolume, 'spec'>): boolean {
  const isUnguarded = spec.iscsi !== undefined || spec.fc !== undefined || spec.nfs !== undefined;
  const isConcerned = isUnguarded || isOnStorageServer({ spec }) || csiSourceOf({ spec }) !== undefined;
  const modes = spec.accessModes ?? [];
  return isConcerned && modes.length > 0 && !modes.some((mode) => SHARED_MODES.has(mode));
}

/** True when the volume is attached to the node, and for this pod. */
export const isAttachedForPod = (
  { status: { attachment } }: Pick<PersistentVolume, 'status'>,
  nodeName: string,
  podUid: string,
): boolean => attachment?.nodeName === nodeName && (attachment.pods ?? []).some(({ uid }) => uid === podUid);

const IN_USE = 'holdfast.io/volume';

/** Entry of a node's `status.volumesInUse`: processes of this pod may be using the volume there. */
export const volumeInUse = (volumeName: string, podUid: string): string => `${IN_USE}/${volumeName}/${podUid}`;

/** True when the node reports that it may still use the volume for any pod. */
export const isVolumeInUse = (volumeName: string, inUse: readonly string[]): boolean =>
  inUse.some((entry) => entry.startsWith(`${IN_USE}/${volumeName}/`));

/** Returns the pod of such an entry; `undefined` for entries of another component. */
export const podOfVolumeInUse = (entry: string): string | undefined =>
  entry.startsWith(`${IN_USE}/`) ? entry.slice(entry.lastIndexOf('/') + 1) : undefined;
