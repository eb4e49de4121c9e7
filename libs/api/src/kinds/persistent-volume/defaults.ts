import { setResourceListDefaults } from '../../defaults/resources.ts';
import { setDefault } from '../../defaults/set.ts';
import { setNetworkVolumeDefaults } from '../../defaults/volumes.ts';
import type { PersistentVolumeSpec, Volume } from '../../generated/types.ts';

/** Defaults of a volume's source, in any kind. */
export function setSourceDefaults(spec: PersistentVolumeSpec): void {
  setResourceListDefaults(spec.capacity);
  if (spec.hostPath !== undefined) setDefault(spec.hostPath, 'type', '');
  setNetworkVolumeDefaults(networkSourcesOf(spec));
}

/** The sources with defaults have the same fields in both kinds of volumes. */
function networkSourcesOf(spec: PersistentVolumeSpec): Pick<Volume, 'iscsi' | 'azureDisk'> & {
  rbd?: NonNullable<Volume['rbd']>;
  scaleIO?: NonNullable<Volume['scaleIO']>;
} {
  return {
    ...(spec.iscsi === undefined ? {} : { iscsi: spec.iscsi }),
    ...(spec.azureDisk === undefined ? {} : { azureDisk: spec.azureDisk }),
    ...(spec.rbd === undefined ? {} : { rbd: spec.rbd }),
    ...(spec.scaleIO === undefined ? {} : { scaleIO: spec.scaleIO }),
  };
}
