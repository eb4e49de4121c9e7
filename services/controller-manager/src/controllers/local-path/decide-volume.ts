import {
  isTerminating,
  LOCAL_PATH_FINALIZER,
  LOCAL_PATH_NODE_LABEL,
  LOCAL_PATH_PROVISIONER,
  localPathNode,
  type PersistentVolume,
  PROVISIONED_BY_ANNOTATION,
} from '@holdfast/api';
import { withoutFinalizer } from '../../common/finalizers.ts';
import { nameOf } from '../../common/meta.ts';
import type { LocalPathEvent } from './decide-claim.ts';

export type VolumeAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'update'; readonly volume: PersistentVolume; readonly event?: LocalPathEvent }
  /** The finalizer keeps the object until the node has removed the directory. */
  | { readonly kind: 'delete' };

const NOTHING: VolumeAction = { kind: 'none' };

export function decideVolume(volume: PersistentVolume, nodeExists: boolean): VolumeAction {
  const nodeName = localPathNode(volume);
  if (nodeName === undefined) return NOTHING;
  if (isTerminating(volume)) return decideEnding(volume, nodeName, nodeExists);
  const { labels = {}, annotations } = volume.metadata;
  // Without its label the node does not see the volume.
  if (labels[LOCAL_PATH_NODE_LABEL] !== nodeName) {
    const metadata = { ...volume.metadata, labels: { ...labels, [LOCAL_PATH_NODE_LABEL]: nodeName } };
    return { kind: 'update', volume: { ...volume, metadata } };
  }
  const isOurs = annotations?.[PROVISIONED_BY_ANNOTATION] === LOCAL_PATH_PROVISIONER;
  const isUnneeded = volume.status.phase === 'Released' && isDeletable(volume);
  return isOurs && isUnneeded ? { kind: 'delete' } : NOTHING;
}

/** Returns the finalizer that nobody else removes: of data that are kept, and of a node that is gone with its disk. */
function decideEnding(volume: PersistentVolume, nodeName: string, nodeExists: boolean): VolumeAction {
  const free = withoutFinalizer(volume, LOCAL_PATH_FINALIZER);
  if (free === undefined || volume.status.phase === 'Bound') return NOTHING;
  if (!isDeletable(volume)) return { kind: 'update', volume: free };
  if (nodeExists) return NOTHING;
  const message = `Node "${nodeName}" does not exist any more: the directory of volume "${nameOf(volume)}" is not removed there.`;
  return { kind: 'update', volume: free, event: { type: 'Warning', reason: 'VolumeNodeLost', message } };
}

const isDeletable = ({ spec }: PersistentVolume): boolean => spec.persistentVolumeReclaimPolicy === 'Delete';
