import type { MessageInitShape } from '@bufbuild/protobuf';
import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapabilitySchema } from './generated/csi_pb.js';

export interface VolumeUseForm {
  /** `Filesystem` or `Block`. */
  readonly volumeMode: string | undefined;
  readonly accessModes: readonly string[];
  readonly fsType: string | undefined;
  readonly mountOptions: readonly string[];
  /** The driver distinguishes one writer from several writers on one node (SINGLE_NODE_MULTI_WRITER). */
  readonly knowsSingleWriter: boolean;
  /** The driver gives the files this group (VOLUME_MOUNT_GROUP). */
  readonly mountGroup?: string | undefined;
}

export type Capability = MessageInitShape<typeof VolumeCapabilitySchema>;

/** How a volume is used, in the words of CSI. */
export function capabilityOf(form: VolumeUseForm): Capability {
  const { volumeMode, fsType = '', mountOptions, mountGroup = '' } = form;
  const accessMode = { mode: modeOf(form) };
  if (volumeMode === 'Block') return { accessMode, accessType: { case: 'block', value: {} } };
  const value = { fsType, mountFlags: [...mountOptions], volumeMountGroup: mountGroup };
  return { accessMode, accessType: { case: 'mount', value } };
}

/** The widest mode counts, as in Kubernetes. */
function modeOf({ accessModes, knowsSingleWriter }: VolumeUseForm): Mode {
  if (accessModes.includes('ReadWriteMany')) return Mode.MULTI_NODE_MULTI_WRITER;
  if (accessModes.includes('ReadOnlyMany')) {
    return accessModes.includes('ReadWriteOnce') ? Mode.MULTI_NODE_SINGLE_WRITER : Mode.MULTI_NODE_READER_ONLY;
  }
  if (!knowsSingleWriter) return Mode.SINGLE_NODE_WRITER;
  return accessModes.includes('ReadWriteOncePod') ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_MULTI_WRITER;
}
