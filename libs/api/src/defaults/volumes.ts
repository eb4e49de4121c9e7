import type { DownwardAPIVolumeFile, Volume, VolumeProjection } from '../generated/types.ts';
import { setPersistentVolumeClaimSpecDefaults } from './claims.ts';
import { setDefault, setDefaultOfZero } from './set.ts';

const FILE_MODE = 0o644;

export function setVolumeDefaults(volume: Volume): void {
  if (Object.keys(volume).every((key) => key === 'name')) volume.emptyDir = {};
  if (volume.secret !== undefined) setDefault(volume.secret, 'defaultMode', FILE_MODE);
  if (volume.configMap !== undefined) setDefault(volume.configMap, 'defaultMode', FILE_MODE);
  if (volume.hostPath !== undefined) setDefault(volume.hostPath, 'type', '');
  if (volume.downwardAPI !== undefined) {
    setDefault(volume.downwardAPI, 'defaultMode', FILE_MODE);
    setDownwardDefaults(volume.downwardAPI.items);
  }
  if (volume.projected !== undefined) {
    setDefault(volume.projected, 'defaultMode', FILE_MODE);
    for (const source of volume.projected.sources ?? []) setProjectionDefaults(source);
  }
  if (volume.ephemeral?.volumeClaimTemplate !== undefined) {
    setDefault(volume.ephemeral.volumeClaimTemplate, 'spec', { resources: {} });
    setPersistentVolumeClaimSpecDefaults(volume.ephemeral.volumeClaimTemplate.spec);
  }
  setNetworkVolumeDefaults(volume);
}

function setProjectionDefaults(source: VolumeProjection): void {
  if (source.serviceAccountToken !== undefined) setDefault(source.serviceAccountToken, 'expirationSeconds', 3600);
  setDownwardDefaults(source.downwardAPI?.items);
}

function setDownwardDefaults(items: readonly DownwardAPIVolumeFile[] | undefined): void {
  for (const item of items ?? []) {
    if (item.fieldRef !== undefined) setDefaultOfZero(item.fieldRef, 'apiVersion', 'v1');
    if (item.resourceFieldRef !== undefined) setDefault(item.resourceFieldRef, 'divisor', '0');
  }
}

type NetworkVolume = Pick<Volume, 'iscsi' | 'rbd' | 'azureDisk' | 'scaleIO'>;

/** Defaults of volume sources that pods and persistent volumes share. */
export function setNetworkVolumeDefaults(volume: NetworkVolume): void {
  if (volume.iscsi !== undefined) setDefaultOfZero(volume.iscsi, 'iscsiInterface', 'default');
  if (volume.rbd !== undefined) {
    setDefaultOfZero(volume.rbd, 'pool', 'rbd');
    setDefaultOfZero(volume.rbd, 'user', 'admin');
    setDefaultOfZero(volume.rbd, 'keyring', '/etc/ceph/keyring');
  }
  if (volume.azureDisk !== undefined) {
    setDefault(volume.azureDisk, 'cachingMode', 'ReadWrite');
    setDefault(volume.azureDisk, 'kind', 'Shared');
    setDefault(volume.azureDisk, 'fsType', 'ext4');
    setDefault(volume.azureDisk, 'readOnly', false);
  }
  if (volume.scaleIO !== undefined) {
    setDefaultOfZero(volume.scaleIO, 'storageMode', 'ThinProvisioned');
    setDefaultOfZero(volume.scaleIO, 'fsType', 'xfs');
  }
}
