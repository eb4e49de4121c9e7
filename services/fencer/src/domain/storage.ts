import { isVolumeInUse, type Node, needsAttach, type PersistentVolume } from '@holdfast/api';

/** The hosts of the storage servers that a volume is reached by. */
function serversOf({ spec: { nfs, iscsi } }: PersistentVolume): readonly string[] {
  if (nfs !== undefined) return [nfs.server];
  if (iscsi === undefined) return [];
  return [iscsi.targetPortal, ...(iscsi.portals ?? [])].map((portal) => portal.replace(/:\d+$/, ''));
}

/** Whether a fence of these servers closes every way to the volume; no names = all servers. */
export function isServedBy(volume: PersistentVolume, servers: readonly string[]): boolean {
  if (!needsAttach(volume)) return false;
  const own = serversOf(volume);
  return servers.length === 0 || (own.length > 0 && own.every((server) => servers.includes(server)));
}

export const isAttachedTo = ({ status }: PersistentVolume, { metadata }: Node): boolean =>
  status.attachment?.nodeName === metadata.name;

/** Volumes that were taken from the node and that, by its own word, it still has open. */
export function stillOpen(node: Node, volumes: readonly PersistentVolume[]): readonly string[] {
  const inUse = node.status.volumesInUse ?? [];
  const names = volumes.filter((volume) => !isAttachedTo(volume, node)).map(({ metadata }) => metadata.name ?? '');
  return names.filter((name) => isVolumeInUse(name, inUse));
}
