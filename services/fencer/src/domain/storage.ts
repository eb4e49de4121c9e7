import { isVolumeInUse, type Node, needsAttach, type PersistentVolume } from '@holdfast/api';

/** The host of the storage server that a volume is on. */
function serverOf({ spec }: PersistentVolume): string | undefined {
  if (spec.nfs !== undefined) return spec.nfs.server;
  return spec.iscsi?.targetPortal.replace(/:\d+$/, '');
}

/** Whether a fence of these servers reaches the volume; no names = all servers. */
export function isServedBy(volume: PersistentVolume, servers: readonly string[]): boolean {
  if (!needsAttach(volume)) return false;
  const server = serverOf(volume);
  return servers.length === 0 || (server !== undefined && servers.includes(server));
}

export const isAttachedTo = ({ status }: PersistentVolume, { metadata }: Node): boolean =>
  status.attachment?.nodeName === metadata.name;

/** Volumes that were taken from the node and that, by its own word, it still has open. */
export function stillOpen(node: Node, volumes: readonly PersistentVolume[]): readonly string[] {
  const inUse = node.status.volumesInUse ?? [];
  const names = volumes.filter((volume) => !isAttachedTo(volume, node)).map(({ metadata }) => metadata.name ?? '');
  return names.filter((name) => isVolumeInUse(name, inUse));
}
