import type { PersistentVolumeClaimSpec } from '../generated/types.ts';
import { setResourceListDefaults } from './resources.ts';
import { setDefault } from './set.ts';

export function setPersistentVolumeClaimSpecDefaults(spec: PersistentVolumeClaimSpec): void {
  setDefault(spec, 'volumeMode', 'Filesystem');
  setDefault(spec, 'resources', {});
  setResourceListDefaults(spec.resources.requests);
  setResourceListDefaults(spec.resources.limits);
}
