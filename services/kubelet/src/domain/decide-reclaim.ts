import { isDirectoryDue, localPathNode, type PersistentVolume } from '@holdfast/api';

/** `wait`: a pod of this node may still use the directory. */
export type Reclaim = 'nothing' | 'wait' | 'remove';

/** What this node does with the directory of a local-path volume. */
export function decideReclaim(
  volume: PersistentVolume,
  { nodeName, isInUse }: { readonly nodeName: string; readonly isInUse: boolean },
): Reclaim {
  if (localPathNode(volume) !== nodeName || !isDirectoryDue(volume)) return 'nothing';
  return isInUse ? 'wait' : 'remove';
}
