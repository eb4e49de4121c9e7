import { isVolumeInUse, type Node, needsAttach, type PersistentVolume } from '@holdfast/api';

/** Returns the hosts of a volume's storage servers. */
function serversOf({ spec: { nfs, iscsi } }: PersistentVolume): readonly string[] {
  if (nfs !== undefined) return [nfs.server];
  if (iscsi === undefined) return [];
  return [iscsi.targetPortal, ...(iscsi.portals ?? [])].map((portal) => portal.replace(/:\d+$/, ''));
}

/** True when a fence of these servers closes every path to the volume; no names mean all servers. */
export function isServedBy(volume: PersistentVolume, servers: readonly string[]): boolean {
  if (!needsAttach(volume)) return false;
  const own = serversOf(volume);
  return servers.length === 0 || (own.length > 0 && own.every((server) => servers.includes(server)));
}

export const isAttachedTo = ({ status }: PersistentVolume, { metadata }: Node): boolean =>
  status.attachment?.nodeName === metadata.name;

/** Returns volumes that the node lost but still reports as open. */
export function stillOpen(node: Node, volumes: readonly PersistentVolume[]): readonly string[] {
  const inUse = node.status.volumesInUse ?? [];
  const names = volumes.filter((volume) => !isAttachedTo(volume, node)).map(({ metadata }) => metadata.name ?? '');
  return names.filter((name) => isVolumeInUse(name, inUse));
}
