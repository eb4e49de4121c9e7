import type { PersistentVolume, PersistentVolumeSpec } from '../../generated/types.ts';
import { MOUNT_OPTIONS_ANNOTATION } from '../../semantics/well-known.ts';
import { storageClassWarnings } from '../../validation/claim-warnings.ts';
import { nodeSelectorTermWarnings } from '../../validation/node-labels.ts';

const DEPRECATED: readonly (readonly [key: keyof PersistentVolumeSpec, text: string])[] = [
  ['cephfs', 'spec.cephfs: deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'spec.scaleIO: deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'spec.storageOS: deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'spec.glusterfs: deprecated in v1.25, non-functional in v1.26+'],
  ['quobyte', 'spec.quobyte: deprecated in v1.22, non-functional in v1.25+'],
  ['flocker', 'spec.flocker: deprecated in v1.22, non-functional in v1.25+'],
  ['rbd', 'spec.rbd: deprecated in v1.28, non-functional in v1.31+'],
];

export function volumeWarnings({ metadata, spec }: Readonly<PersistentVolume>): readonly string[] {
  const out = storageClassWarnings(metadata.annotations);
  if (metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION] !== undefined) {
    out.push(
      `metadata.annotations[${MOUNT_OPTIONS_ANNOTATION}]: deprecated since v1.31; use "mountOptions" attribute instead`,
    );
  }
  if (spec.persistentVolumeReclaimPolicy === 'Recycle') {
    out.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    );
  }
  for (const [i, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries()) {
    nodeSelectorTermWarnings(out, `spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, term);
  }
  for (const [key, text] of DEPRECATED) if (spec[key] !== undefined) out.push(text);
  return out;
}
