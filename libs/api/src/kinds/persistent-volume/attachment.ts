import type { PersistentVolume } from '../../generated/types.ts';

const SHARED_MODES: ReadonlySet<string> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

/**
 * Whether the volume is given to one node at a time, by a note in its status: what several machines can write to at once and
 * what keeps no lock of its own. Cloud disks and drivers have an attach of their own that refuses the second node.
 */
export function needsAttach({ spec }: Pick<PersistentVolume, 'spec'>): boolean {
  const isUnguarded = spec.iscsi !== undefined || spec.fc !== undefined || spec.nfs !== undefined;
  const modes = spec.accessModes ?? [];
  return isUnguarded && modes.length > 0 && !modes.some((mode) => SHARED_MODES.has(mode));
}

const IN_USE = 'holdfast.io/volume';

/** In `status.volumesInUse` of a node: processes of this pod may be using the volume there. */
export const volumeInUse = (volumeName: string, podUid: string): string => `${IN_USE}/${volumeName}/${podUid}`;

/** Whether the node says that it may still be using the volume, for whichever pod. */
export const isVolumeInUse = (volumeName: string, inUse: readonly string[]): boolean =>
  inUse.some((entry) => entry.startsWith(`${IN_USE}/${volumeName}/`));

/** The pod of such an entry; undefined when somebody else wrote it. */
export const podOfVolumeInUse = (entry: string): string | undefined =>
  entry.startsWith(`${IN_USE}/`) ? entry.slice(entry.lastIndexOf('/') + 1) : undefined;
