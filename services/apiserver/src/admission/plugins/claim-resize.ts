import { type PersistentVolumeClaim, STORAGE_CLASSES, storageClassOf } from '@holdfast/api';
import { compareQuantities, forbiddenError, parseQuantity } from '@holdfast/machinery';
import { type AdmissionDeps, type AdmissionPlugin, isCore, subjectOfRequest } from '../port.ts';

/** A claim grows only when its class allows expansion. */
export const createClaimResize = ({ reader }: AdmissionDeps): AdmissionPlugin => ({
  name: 'PersistentVolumeClaimResize',
  handles: (request) =>
    isCore(request, 'persistentvolumeclaims') && request.operation === 'UPDATE' && request.subresource === '',
  validate: (request) => {
    const claim = request.object as PersistentVolumeClaim | undefined;
    const old = request.old as PersistentVolumeClaim | undefined;
    if (claim === undefined || old === undefined || !grows(claim, old)) return;
    const name = storageClassOf(claim);
    const mayGrow =
      name !== '' && name === storageClassOf(old) && reader.cached(STORAGE_CLASSES, { name })?.allowVolumeExpansion;
    if (mayGrow === true) return;
    const why =
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
    throw forbiddenError(subjectOfRequest(request), why);
  },
});

const sizeOf = ({ spec }: PersistentVolumeClaim): string => spec?.resources?.requests?.['storage'] ?? '0';

const grows = (claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean =>
  compareQuantities(parseQuantity(sizeOf(claim)), parseQuantity(sizeOf(old))) > 0;
