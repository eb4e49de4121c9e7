import {
  fenceOf,
  isPodFinished,
  isVolumeInUse,
  type Lease,
  type Node,
  nextFencingToken,
  type PersistentVolume,
  type PersistentVolumeAttachment,
  type PersistentVolumeUser,
  type Pod,
  promiseOf,
  sidecarsOf,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { isSame } from '../../common/hash.ts';
import { compareText, createdAt, isTerminating, nameOf, namespaceOf, uidOf } from '../../common/meta.ts';

export interface AttachSnapshot {
  readonly volume: PersistentVolume;
  /** Pods on a node that use the claim which the volume is bound to. */
  readonly users: readonly Pod[];
  /** Pods that the attachment names and that the API itself has no more. */
  readonly goneUids: ReadonlySet<string>;
  readonly nodeOf: (name: string) => Node | undefined;
  /** A revision that the store has reached; every number of an attachment is at least that. */
  readonly position: number;
}

/** At most one write; its own event triggers the next pass. */
export type AttachDecision =
  | { readonly kind: 'nothing' }
  /** The first pod of a node, or another one of the same node, or one that is gone. */
  | {
      readonly kind: 'attach' | 'change-users';
      readonly attachment: PersistentVolumeAttachment;
      /** Another one than before for another machine. */
      readonly fencingToken: number | undefined;
    }
  /** No pod is named any more, and that is stored: now the node's report decides. */
  | { readonly kind: 'ask-node'; readonly nodeName: string };

/**
 * A volume moves from one node to the next in four stored steps: its pods leave the attachment; the node, read after
 * that, reports that nothing uses it; the attachment is cleared; the next node is named. A kubelet reports its use
 * before it reads whether its pod is named, so at least one side always sees the other.
 */
export function decide({ volume, users, goneUids, nodeOf, position }: AttachSnapshot, now: number): AttachDecision {
  const { attachment } = volume.status;
  if (attachment === undefined) return attach({ volume, users, nodeOf, position }, now);
  const { nodeName, pods = [] } = attachment;
  const onNode = users.filter((pod) => pod.spec.nodeName === nodeName);
  const kept = pods.filter(
    ({ uid }) => !goneUids.has(uid) && !onNode.some((pod) => uidOf(pod) === uid && hasEnded(pod) && !goesNext(pod)),
  );
  const wanted = [...onNode].filter(mayStart).sort(firstCome).map(userOf);
  const next = [...kept, ...wanted.filter(({ uid }) => !kept.some((user) => user.uid === uid))];
  const nodeUID = nodeOf(nodeName)?.metadata.uid ?? attachment.nodeUID;
  if (next.length === 0 && pods.length === 0) return { kind: 'ask-node', nodeName };
  const changed = { ...attachment, nodeUID: next.length === 0 ? attachment.nodeUID : nodeUID, pods: next };
  if (isSame(changed, attachment)) return { kind: 'nothing' };
  // A node that was deleted and registered again may be another machine.
  const isOther = changed.nodeUID !== attachment.nodeUID;
  const fencingToken = isOther ? nextFencingToken(volume, position) : volume.status.fencingToken;
  return { kind: 'change-users', attachment: changed, fencingToken };
}

function attach({ volume, users, nodeOf, position }: Omit<AttachSnapshot, 'goneUids'>, now: number): AttachDecision {
  const candidates = users.filter(mayStart).sort(firstCome);
  // A fenced machine does not reach the storage; its pods would keep the volume from those that do.
  const node = candidates
    .map(({ spec }) => nodeOf(spec.nodeName ?? ''))
    .find((each) => each !== undefined && fenceOf(each) === 'none');
  if (node === undefined) return { kind: 'nothing' };
  const nodeName = nameOf(node);
  const pods = candidates.filter(({ spec }) => spec.nodeName === nodeName).map(userOf);
  const attachment = { attachedAt: formatTime(now), nodeName, nodeUID: uidOf(node), pods };
  return { kind: 'attach', attachment, fencingToken: nextFencingToken(volume, position) };
}

/** True when the decision gives the volume to another machine. */
export const givesToken = (decision: AttachDecision, { status }: PersistentVolume): boolean =>
  (decision.kind === 'attach' || decision.kind === 'change-users') && decision.fencingToken !== status.fencingToken;

/**
 * True when nothing on the node can be writing to the volume: the node reports it, or its end is confirmed in another
 * way.
 */
export function isReleased(node: Node | undefined, lease: Lease | undefined, volumeName: string): boolean {
  // Users of a claim are exclusive pods: the node's watchdog has ended them.
  if (node === undefined || promiseOf(lease)?.isBroken === true) return true;
  return fenceOf(node) === 'node' || !isVolumeInUse(volumeName, node.status.volumesInUse ?? []);
}

/** The pods that have to wait because the volume is somewhere else. */
export const waitingFor = ({ status: { attachment } }: PersistentVolume, users: readonly Pod[]): readonly Pod[] =>
  attachment === undefined
    ? []
    : users.filter((pod) => mayStart(pod) && pod.spec.nodeName !== attachment.nodeName).sort(firstCome);

export function multiAttachMessage(volume: PersistentVolume, waiting: Pod): string {
  const pods = volume.status.attachment?.pods ?? [];
  const known = pods.filter(({ namespace }) => namespace === namespaceOf(waiting)).map(({ name }) => name);
  const why =
    known.length === 0
      ? "Volume is already exclusively attached to one node and can't be attached to another"
      : `Volume is already used by pod(s) ${known.join(', ')}`;
  return `Multi-Attach error for volume "${nameOf(volume)}" ${why}`;
}

/** A pod that is on its way out starts nothing more. */
const mayStart = (pod: Pod): boolean => !isTerminating(pod) && !isPodFinished(pod);

/**
 * The phase is final and the kubelet set it: only the kubelet knows how every container ended. Other writers also set a
 * final phase on pods of a lost node while the container statuses still show them as running.
 */
export function hasEnded(pod: Pod): boolean {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status;
  const all = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  if (!isPodFinished(pod)) return false;
  // A kubelet reports containers together with the start of the pod: a pod without container statuses was rejected.
  if (all.length === 0) return pod.status.startTime !== undefined;
  const startsNoMore = initHasFailed(pod);
  return all.every(({ state }) => state.terminated !== undefined || (startsNoMore && state.running === undefined));
}

/** Its kubelet removes the object next: first it is gone, then the volume is cleared. A finalizer would hold it for long. */
const goesNext = (pod: Pod): boolean => isTerminating(pod) && (pod.metadata.finalizers ?? []).length === 0;

/** For good: the later containers never started. */
function initHasFailed({ spec, status }: Pod): boolean {
  if (spec.restartPolicy !== 'Never') return false;
  const sidecars = sidecarsOf(spec);
  return (status.initContainerStatuses ?? []).some(
    ({ name, state }) =>
      state.terminated !== undefined &&
      state.terminated.exitCode !== 0 &&
      !sidecars.some((sidecar) => sidecar.name === name),
  );
}

const firstCome = (a: Pod, b: Pod): number => createdAt(a) - createdAt(b) || compareText(uidOf(a), uidOf(b));

const userOf = (pod: Pod): PersistentVolumeUser => ({
  namespace: namespaceOf(pod),
  name: nameOf(pod),
  uid: uidOf(pod),
});
