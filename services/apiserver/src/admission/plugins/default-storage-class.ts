import {
  isDefaultStorageClass,
  type PersistentVolumeClaim,
  STORAGE_CLASS_ANNOTATION,
  STORAGE_CLASSES,
  type StorageClass,
} from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import { type AdmissionDeps, type AdmissionPlugin, isCore } from '../port.ts';

/** A claim that names no class gets the default one, if there is one. */
export const createDefaultStorageClass = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'DefaultStorageClass',
  handles: (request) => isCore(request, 'persistentvolumeclaims') && request.operation === 'CREATE',
  admit: ({ object }) => {
    const claim = object as PersistentVolumeClaim | undefined;
    if (claim?.spec === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] !== undefined) return;
    const name = defaultClass(deps)?.metadata.name;
    if (name !== undefined) claim.spec.storageClassName = name;
  },
});

/** The newest of several; of equally old ones the first by name. */
function defaultClass(deps: AdmissionDeps): StorageClass | undefined {
  const created = (each: StorageClass): number => parseTime(each.metadata.creationTimestamp ?? '') ?? 0;
  return deps.reader
    .list(STORAGE_CLASSES)
    .filter(isDefaultStorageClass)
    .toSorted((a, b) => created(b) - created(a))[0];
}
