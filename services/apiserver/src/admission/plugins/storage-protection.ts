import { CLAIM_FINALIZER, VOLUME_FINALIZER } from '@holdfast/api';
import type { AdmissionDeps, AdmissionPlugin } from '../port.ts';

const PROTECTION: ReadonlyMap<string, string> = new Map([
  ['persistentvolumeclaims', CLAIM_FINALIZER],
  ['persistentvolumes', VOLUME_FINALIZER],
]);

/** A claim that a pod uses, and a volume that a claim uses, outlive their deletion: a controller takes the finalizer away. */
export const createStorageProtection = (_deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'StorageObjectInUseProtection',
  handles: (request) =>
    request.operation === 'CREATE' &&
    request.subresource === '' &&
    request.definition.group === '' &&
    PROTECTION.has(request.definition.plural),
  admit: ({ object, definition }) => {
    const finalizer = PROTECTION.get(definition.plural);
    if (object === undefined || finalizer === undefined) return;
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
  },
});
