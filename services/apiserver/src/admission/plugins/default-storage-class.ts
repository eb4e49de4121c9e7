import { defaultStorageClass, namesStorageClass, type PersistentVolumeClaim, STORAGE_CLASSES } from '@holdfast/api';
import { type AdmissionDeps, type AdmissionPlugin, isCore } from '../port.ts';

/** A claim that names no class gets the default one, if there is one. The volume controller does so later, too. */
export const createDefaultStorageClass = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'DefaultStorageClass',
  handles: (request) => isCore(request, 'persistentvolumeclaims') && request.operation === 'CREATE',
  admit: ({ object }) => {
    const claim = object as PersistentVolumeClaim | undefined;
    if (claim?.spec === undefined || namesStorageClass(claim)) return;
    const name = defaultStorageClass(deps.reader.list(STORAGE_CLASSES))?.metadata.name;
    if (name !== undefined) claim.spec.storageClassName = name;
  },
});
