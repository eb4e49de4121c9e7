import { type PersistentVolumeClaim, STORAGE_CLASSES, type StorageClass } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';
import { type AdmissionDeps, type AdmissionPlugin, isCore } from '../port.ts';

const DEFAULT_ANNOTATIONS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];
const CLAIM_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** A claim that names no class gets the default one, if there is one. */
export const createDefaultStorageClass = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'DefaultStorageClass',
  handles: (request) => isCore(request, 'persistentvolumeclaims') && request.operation === 'CREATE',
  admit: ({ object }) => {
    const claim = object as PersistentVolumeClaim | undefined;
    if (claim?.spec === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.[CLAIM_ANNOTATION] !== undefined) return;
    const name = defaultClass(deps)?.metadata.name;
    if (name !== undefined) claim.spec.storageClassName = name;
  },
});

/** The newest of several; of equally old ones the first by name. */
function defaultClass(deps: AdmissionDeps): StorageClass | undefined {
  const created = (each: StorageClass): number => parseTime(each.metadata.creationTimestamp ?? '') ?? 0;
  return deps.reader
    .list(STORAGE_CLASSES)
    .filter(({ metadata }) => DEFAULT_ANNOTATIONS.some((key) => ownValue(metadata.annotations, key) === 'true'))
    .toSorted((a, b) => created(b) - created(a))[0];
}
