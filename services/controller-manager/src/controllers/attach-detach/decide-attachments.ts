import {
  csiSourceOf,
  csiVolumeInUse,
  DETACHING_ANNOTATION,
  isDetaching,
  isPodFinished,
  isTerminating,
  type Lease,
  type Node,
  needsAttach,
  type PersistentVolume,
  type Pod,
  type VolumeAttachment,
  volumeAttachmentName,
  volumeInUse,
} from '@holdfast/api';
import { compareText, nameOf } from '../../common/meta.ts';
import { hasEnded, isReleased } from './decide.ts';

export interface VolumeAttachmentsSnapshot {
  readonly volume: PersistentVolume;
  /** The CSIDriver of the volume asks for attachments, or there is none. */
  readonly isRequired: boolean;
  /** Pods on a node that use the claim which the volume is bound to. */
  readonly users: readonly Pod[];
  /** The VolumeAttachments of the volume that this controller makes. */
  readonly attachments: readonly VolumeAttachment[];
  readonly nodeExists: (name: string) => boolean;
}

/** At most one write; its own event triggers the next pass. */
export type VolumeAttachmentsDecision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'create'; readonly attachment: VolumeAttachment }
  /** Says that no pod may start with it any more, or takes that back. */
  | { readonly kind: 'mark'; readonly attachment: VolumeAttachment }
  /** It is marked, and that is stored: now the node's report decides whether it is deleted. */
  | { readonly kind: 'ask-node'; readonly attachment: VolumeAttachment };

/**
 * A volume leaves a node in three stored steps: the VolumeAttachment is marked; the node, read after that, reports that
 * nothing uses the volume; the VolumeAttachment is deleted, and its driver detaches. A kubelet reports its use before it
 * reads the VolumeAttachment, so at least one side always sees the other.
 */
export function decideAttachments(snapshot: VolumeAttachmentsSnapshot): VolumeAttachmentsDecision {
  const { volume, attachments } = snapshot;
  const wanted = wantedNodes(snapshot);
  const going = attachments.filter((each) => !isTerminating(each) && !wanted.has(each.spec.nodeName));
  const unmarked = going.find((each) => !isDetaching(each));
  if (unmarked !== undefined) return { kind: 'mark', attachment: marked(unmarked) };
  const back = attachments.find((each) => wanted.has(each.spec.nodeName) && isDetaching(each) && !isTerminating(each));
  if (back !== undefined) return { kind: 'mark', attachment: unmarkedOf(back) };
  const next = [...wanted].sort(compareText).find((node) => mayCreate(snapshot, node));
  if (next !== undefined) return { kind: 'create', attachment: attachmentOf(volume, next) };
  const [first] = going;
  return first === undefined ? { kind: 'nothing' } : { kind: 'ask-node', attachment: first };
}

/** The nodes on which pods use the volume, or will. */
function wantedNodes({ volume, isRequired, users, attachments }: VolumeAttachmentsSnapshot): ReadonlySet<string> {
  if (!isRequired || csiSourceOf(volume) === undefined) return new Set();
  if (needsAttach(volume)) {
    const { nodeName, pods = [] } = volume.status.attachment ?? {};
    return new Set(nodeName === undefined || pods.length === 0 ? [] : [nodeName]);
  }
  const attached = new Set(attachments.map(({ spec }) => spec.nodeName));
  const using = users.filter((pod) => {
    const isStarting = !isTerminating(pod) && !isPodFinished(pod);
    return isStarting || (attached.has(pod.spec.nodeName ?? '') && !hasEnded(pod));
  });
  return new Set(using.map(({ spec }) => spec.nodeName ?? ''));
}

/** A volume for one node waits until it has left the last one. */
function mayCreate({ volume, attachments, nodeExists }: VolumeAttachmentsSnapshot, node: string): boolean {
  if (isTerminating(volume) || !nodeExists(node)) return false;
  return needsAttach(volume) ? attachments.length === 0 : !attachments.some(({ spec }) => spec.nodeName === node);
}

function attachmentOf(volume: PersistentVolume, nodeName: string): VolumeAttachment {
  const source = csiSourceOf(volume) ?? { driver: '', volumeHandle: '' };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: volumeAttachmentName(source, nodeName) },
    spec: { attacher: source.driver, nodeName, source: { persistentVolumeName: nameOf(volume) } },
    status: { attached: false },
  };
}

function marked(attachment: VolumeAttachment): VolumeAttachment {
  const annotations = { ...attachment.metadata.annotations, [DETACHING_ANNOTATION]: 'true' };
  return { ...attachment, metadata: { ...attachment.metadata, annotations } };
}

function unmarkedOf(attachment: VolumeAttachment): VolumeAttachment {
  const { [DETACHING_ANNOTATION]: _mark, ...annotations } = attachment.metadata.annotations ?? {};
  return { ...attachment, metadata: { ...attachment.metadata, annotations } };
}

/** As `isReleased`; also understands the reports of kubelets of Kubernetes. */
export function hasLeft(volume: PersistentVolume, node: Node | undefined, lease: Lease | undefined): boolean {
  const source = csiSourceOf(volume);
  const entry = source === undefined ? '' : csiVolumeInUse(source);
  const asSeen = node?.status.volumesInUse?.includes(entry) === true ? withEntry(node, nameOf(volume)) : node;
  return isReleased(asSeen, lease, nameOf(volume));
}

const withEntry = (node: Node, volumeName: string): Node => ({
  ...node,
  status: { ...node.status, volumesInUse: [volumeInUse(volumeName, 'unknown')] },
});
