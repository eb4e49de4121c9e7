import {
  type ControllerRevision,
  DEPLOYMENT_REVISION_ANNOTATION,
  isPodFinished,
  isPodReady,
  isTerminating,
  type KubeObject,
  type Pod,
  type ReplicaSet,
} from '@holdfast/api/facts';

export type RolloutPodState = 'ready' | 'starting' | 'ending' | 'ended';

export interface RolloutPod {
  readonly name: string;
  readonly namespace: string;
  /** Empty: none yet. */
  readonly node: string;
  readonly state: RolloutPodState;
}

/** A template that a workload has or had, with the pods that were made of it. */
export interface RolloutRevision {
  /** The ReplicaSet or ControllerRevision. */
  readonly name: string;
  readonly number: number;
  /** The workload wants this one. */
  readonly isNew: boolean;
  /** What its ReplicaSet wants; absent for other kinds. */
  readonly wanted?: number;
  readonly createdAt: string;
  readonly pods: readonly RolloutPod[];
}

export interface RolloutMaterial {
  readonly workload: KubeObject;
  /** What it owns: ReplicaSets of a Deployment, ControllerRevisions of the other kinds. */
  readonly revisions: readonly (ReplicaSet | ControllerRevision)[];
  /** The pods of its namespace. */
  readonly pods: readonly Pod[];
}

/** Old templates without pods that are shown: they are what an undo can return to. */
const EMPTY_SHOWN_MAX = 3;
const REVISION_LABEL = 'controller-revision-hash';

/** The revisions of a workload, the newest first, each with its pods. */
export function revisionsOf({ workload, revisions, pods }: RolloutMaterial): readonly RolloutRevision[] {
  const newestFirst = revisions.toSorted((a, b) => numberOf(b) - numberOf(a));
  const all = newestFirst.map((revision, index): RolloutRevision => {
    const own = pods.filter((pod) => isOf(pod, revision, workload));
    const { name = '', creationTimestamp } = revision.metadata;
    return {
      name,
      number: numberOf(revision),
      isNew: index === 0,
      ...(isReplicaSet(revision) ? { wanted: revision.spec.replicas ?? 1 } : {}),
      createdAt: creationTimestamp ?? '',
      pods: own.map(rolloutPod).toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true })),
    };
  });
  const isEmpty = ({ isNew, pods: own, wanted = 0 }: RolloutRevision): boolean =>
    !isNew && own.length === 0 && wanted === 0;
  const empty = new Set(all.filter(isEmpty).slice(EMPTY_SHOWN_MAX));
  return all.filter((revision) => !empty.has(revision));
}

const isReplicaSet = (revision: ReplicaSet | ControllerRevision): revision is ReplicaSet => 'spec' in revision;

const numberOf = (revision: ReplicaSet | ControllerRevision): number =>
  isReplicaSet(revision)
    ? Number(revision.metadata.annotations?.[DEPLOYMENT_REVISION_ANNOTATION] ?? 0)
    : revision.revision;

/** Pods of a Deployment belong to its ReplicaSet; those of other workloads name their revision in a label. */
function isOf(pod: Pod, revision: ReplicaSet | ControllerRevision, workload: KubeObject): boolean {
  const owner = isReplicaSet(revision) ? revision : workload;
  const owned = (pod.metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => controller === true && uid === owner.metadata.uid,
  );
  if (!owned || isReplicaSet(revision)) return owned;
  const label = pod.metadata.labels?.[REVISION_LABEL];
  return label !== undefined && [revision.metadata.name, revision.metadata.labels?.[REVISION_LABEL]].includes(label);
}

const rolloutPod = (pod: Pod): RolloutPod => ({
  name: pod.metadata.name ?? '',
  namespace: pod.metadata.namespace ?? '',
  node: pod.spec.nodeName ?? '',
  state: isTerminating(pod) ? 'ending' : isPodFinished(pod) ? 'ended' : isPodReady(pod) ? 'ready' : 'starting',
});
