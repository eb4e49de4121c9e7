import { MOUNT_OPTIONS_ANNOTATION, type PersistentVolume } from '@holdfast/api';
import { ownValue, parseQuantity, value } from '@holdfast/machinery';
import type { UseForm } from './port.ts';

/** How a PersistentVolume is used, for calls to its driver. */
export function formOf({ metadata, spec }: PersistentVolume): UseForm {
  const old = ownValue(metadata.annotations, MOUNT_OPTIONS_ANNOTATION) ?? '';
  return {
    volumeMode: spec.volumeMode,
    accessModes: spec.accessModes ?? [],
    fsType: spec.csi?.fsType,
    mountOptions: old === '' ? (spec.mountOptions ?? []) : old.split(','),
  };
}

/** Bytes of `storage`; 0 when it is absent. */
export const storageBytes = (resources: Readonly<Record<string, string>> | undefined): number =>
  value(parseQuantity(ownValue(resources, 'storage') ?? '0'));
