import { isTerminating, type KubeObject, type Pod, type ReplicaSet } from '@holdfast/api';
import { type CommitRule, type CommittedChange, ended } from './commit-rules.ts';
import { MANAGER } from './meta.ts';
import { type ReplicaDeps, settling } from './settled.ts';

/** A decision may rest on a size that was stored this long ago. */
const DECIDED_MS = 60_000;

interface Size {
  readonly replicas: number;
  readonly atMs: number;
}

/** A controller that knows what it has written creates no pod too many. */
export function replicaRules(replicas: ReplicaDeps): Readonly<Record<string, CommitRule>> {
  const sizes = new Map<string, Size[]>();
  const settledForMs = settling(replicas);
  let claimedAtMs = Number.NEGATIVE_INFINITY;
  const note = ({ resource, before, after, nowMs }: CommittedChange): void => {
    // Adopted, let go, or about to be by its labels: the decision may have been made before.
    if (resource === 'pods' && before !== undefined && after !== undefined && claimOf(before) !== claimOf(after))
      claimedAtMs = nowMs;
    if (resource !== 'replicasets' || after === undefined) return;
    const { uid = '' } = after.metadata;
    sizes.set(uid, [...(sizes.get(uid) ?? []), { replicas: (after as ReplicaSet).spec.replicas ?? 1, atMs: nowMs }]);
  };
  return {
    'a ReplicaSet creates no pod too many': (change) => {
      note(change);
      const knowsMs = settledForMs(change);
      const { resource, before, after, by, nowMs, objects } = change;
      if (by !== MANAGER || resource !== 'pods' || before !== undefined || after === undefined) return undefined;
      const set = setOf(after);
      if (set === undefined || Math.min(knowsMs, nowMs - claimedAtMs) < DECIDED_MS) return undefined;
      const most = mostOf(sizes.get(set) ?? [], nowMs);
      const active = [...objects.values()].filter(
        (each) => each.kind === 'Pod' && setOf(each) === set && !isTerminating(each) && !ended(each as Pod),
      );
      return active.length + 1 > most ? `${active.length + 1} pods are active, of ${most}` : undefined;
    },
  };
}

/** The largest size that was stored in the time in which a decision may be made. */
const mostOf = (sizes: readonly Size[], nowMs: number): number =>
  Math.max(
    ...sizes.filter((_, i) => (sizes[i + 1]?.atMs ?? nowMs) >= nowMs - DECIDED_MS).map(({ replicas }) => replicas),
  );

const claimOf = (pod: KubeObject): string => JSON.stringify([setOf(pod), pod.metadata.labels]);

const setOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.ownerReferences?.find(({ controller, kind }) => controller === true && kind === 'ReplicaSet')?.uid;
