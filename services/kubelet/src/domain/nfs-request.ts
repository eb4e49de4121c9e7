import { needsAttach, type PersistentVolume, type Volume } from '@holdfast/api';
import { type CsiRequest, mountOptionsOf } from './csi-request.ts';

/** The kubelet's own driver of NFS volumes. No CSI driver has a slash in its name. */
export const NFS_DRIVER = 'kubernetes.io/nfs';

type NfsSource = NonNullable<Volume['nfs']>;

/** An NFS volume of a pod, or that of a claim. */
export function requestOfNfs(name: string, source: NfsSource, volume?: PersistentVolume): CsiRequest {
  return {
    name,
    driver: NFS_DRIVER,
    isBuiltIn: true,
    volumeId: shareOf(source),
    readOnly: source.readOnly === true,
    isExclusive: volume !== undefined && needsAttach(volume),
    accessModes: volume?.spec.accessModes ?? [],
    volumeMode: 'Filesystem',
    fsType: undefined,
    mountOptions: volume === undefined ? [] : mountOptionsOf(volume),
    context: {},
  };
}

/** As `mount` wants it: addresses of IPv6 in brackets. */
function shareOf({ server, path }: NfsSource): string {
  const isBareV6 = server.includes(':') && !server.startsWith('[');
  return `${isBareV6 ? `[${server}]` : server}:${path}`;
}
