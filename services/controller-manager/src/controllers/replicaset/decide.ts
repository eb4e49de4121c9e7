import { hasPodFailed, type Pod, type ReplicaSet } from '@holdfast/api';
import { type Claim, claim } from '../../common/claim.ts';
import { controllerReference, isTerminating, nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { freePodNames, heldNames } from '../../common/names.ts';
import { generatedNamePrefix, inDeletionOrder, isActive, podFromTemplate, restMs } from '../../common/pods.ts';
import { REPLICASET_BURST_PODS } from '../../limits.ts';

export interface ReplicaSetSnapshot {
  /** A ReplicaSet, or a ReplicationController in the form of one. */
  readonly replicaSet: ReplicaSet;
  /** Every pod it controls and every pod of its namespace without a controller. */
  readonly pods: readonly Pod[];
  /** False while the cache does not yet show all writes of earlier passes. */
  readonly caughtUp: boolean;
  /** Uids of pods whose delete got no response: the delete is repeated for them, not sent for other pods. */
  readonly unansweredDeletes: ReadonlySet<string>;
  /** Names of this format that foreign or deleted pods have. */
  readonly avoidedNames: ReadonlySet<string>;
  /** Active pods per node of all ReplicaSets under the same controller (this one included). Asked only when a pod has to go. */
  readonly relatedPodsPerNode: () => ReadonlyMap<string, number>;
}

export type ReplicaSetAction =
  | { readonly type: 'adopt-pod'; readonly pod: Pod }
  | { readonly type: 'release-pod'; readonly pod: Pod }
  | { readonly type: 'create-pod'; readonly pod: Pod }
  | { readonly type: 'delete-pod'; readonly pod: Pod };

/** Returns the writes to pods. While the cache lags behind our own writes, nothing is created or deleted. */
export function decidePods(
  snapshot: ReplicaSetSnapshot,
  now: number,
  claimed: Claim<Pod> = claimPods(snapshot),
): readonly ReplicaSetAction[] {
  const { replicaSet } = snapshot;
  const { owned, adopt, release } = claimed;
  const claims: ReplicaSetAction[] = [
    ...adopt.map((pod) => ({ type: 'adopt-pod', pod }) as const),
    ...release.map((pod) => ({ type: 'release-pod', pod }) as const),
  ];
  if (isTerminating(replicaSet)) return claims;
  if (!snapshot.caughtUp) return [...claims, ...repeatedDeletions(snapshot, owned)];
  const active = [...owned, ...adopt];
  const missing = desiredReplicas(replicaSet) - active.length;
  if (missing > 0) {
    const allowed = missing - Math.max(0, refusedPods(snapshot, now).length - desiredReplicas(replicaSet));
    return [...claims, ...creations(snapshot, Math.max(0, Math.min(allowed, REPLICASET_BURST_PODS)), now)];
  }
  return [...claims, ...deletions(snapshot, { active, surplus: Math.min(-missing, REPLICASET_BURST_PODS), now })];
}

export const desiredReplicas = (replicaSet: ReplicaSet): number => replicaSet.spec.replicas ?? 1;

/**
 * Returns its pods that failed right after their creation. One is replaced immediately; replacing more would flood a
 * node that rejects them all.
 */
export const refusedPods = ({ replicaSet, pods }: ReplicaSetSnapshot, now: number): readonly Pod[] =>
  pods.filter((pod) => hasPodFailed(pod) && restMs(pod, now) > 0 && isOwned(replicaSet, pod));

/** Returns owned and adopted pods, which its status counts. */
export const claimPods = ({ replicaSet, pods }: ReplicaSetSnapshot): Claim<Pod> =>
  claim(replicaSet, pods.filter(isActive));

function creations(snapshot: ReplicaSetSnapshot, count: number, now: number): ReplicaSetAction[] {
  if (count === 0) return [];
  const { replicaSet, avoidedNames: avoided } = snapshot;
  const prefix = generatedNamePrefix(nameOf(replicaSet));
  const held = heldNames(snapshot.pods);
  const search = { prefix, seed: uidOf(replicaSet), held, avoided, now, expected: held.size };
  return freePodNames(search, count).map((name) => ({
    type: 'create-pod',
    pod: podFromTemplate(replicaSet.spec.template, {
      namespace: namespaceOf(replicaSet),
      name,
      generateName: prefix,
      owner: controllerReference(replicaSet, replicaSet),
    }),
  }));
}

function deletions(
  snapshot: ReplicaSetSnapshot,
  of: { readonly active: readonly Pod[]; readonly surplus: number; readonly now: number },
): ReplicaSetAction[] {
  if (of.surplus <= 0) return [];
  // Only pods that it owns already: an adoption of this pass may still be refused.
  const ours = new Set(snapshot.pods.filter((pod) => isOwned(snapshot.replicaSet, pod)));
  return inDeletionOrder(of.active, snapshot.relatedPodsPerNode(), of.now)
    .slice(0, of.surplus)
    .filter((pod) => ours.has(pod))
    .map((pod) => ({ type: 'delete-pod', pod }));
}

function repeatedDeletions(snapshot: ReplicaSetSnapshot, owned: readonly Pod[]): ReplicaSetAction[] {
  return owned.filter((pod) => snapshot.unansweredDeletes.has(uidOf(pod))).map((pod) => ({ type: 'delete-pod', pod }));
}

const isOwned = (replicaSet: ReplicaSet, pod: Pod): boolean =>
  pod.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uidOf(replicaSet)) === true;
