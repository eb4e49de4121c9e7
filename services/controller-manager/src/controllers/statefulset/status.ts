import { isPodReady, type Pod, type StatefulSet, type StatefulSetStatus } from '@holdfast/api';
import { isSame, withoutZeros } from '../../common/hash.ts';
import { generationOf, isTerminating } from '../../common/meta.ts';
import { isAvailable } from '../../common/pods.ts';
import { REVISION_LABEL, replicasOf } from './identity.ts';
import type { Revisions } from './revisions.ts';

/** Returns the status to write; `undefined` when the stored one is up to date. */
export function decideStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: Revisions,
  now: number,
): StatefulSetStatus | undefined {
  const next = finishUpdate(set, count(set, pods, revisions, now), revisions);
  return isSame(comparable(set.status), next) ? undefined : next;
}

function count(set: StatefulSet, pods: readonly Pod[], revisions: Revisions, now: number): StatefulSetStatus {
  const present = pods.filter((pod) => pod.status.phase !== undefined && pod.status.phase !== '');
  const living = present.filter((pod) => !isTerminating(pod));
  const running = present.filter((pod) => pod.status.phase === 'Running' && isPodReady(pod));
  const ofRevision = (name: string): number =>
    living.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === name).length;
  return comparable({
    replicas: present.length,
    readyReplicas: running.length,
    availableReplicas: running.filter((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now)).length,
    currentReplicas: ofRevision(revisions.current.name),
    updatedReplicas: ofRevision(revisions.update.name),
    currentRevision: revisions.current.name,
    updateRevision: revisions.update.name,
    observedGeneration: generationOf(set),
    collisionCount: set.status.collisionCount ?? 0,
    ...(set.status.conditions === undefined ? {} : { conditions: set.status.conditions }),
  });
}

/** The update is done when every pod is of the new revision and ready: from then on it is the current one. */
function finishUpdate(set: StatefulSet, status: StatefulSetStatus, { update }: Revisions): StatefulSetStatus {
  const updated = status.updatedReplicas ?? 0;
  const isDone =
    set.spec.updateStrategy.type !== 'OnDelete' &&
    updated === status.replicas &&
    (status.readyReplicas ?? 0) === status.replicas &&
    status.replicas === replicasOf(set);
  return isDone ? withCounts({ ...status, currentRevision: update.name, currentReplicas: updated }) : status;
}

/** `replicas`, `availableReplicas` and `collisionCount` are always present. */
function comparable(status: StatefulSetStatus): StatefulSetStatus {
  return withCounts({ ...status, replicas: status.replicas ?? 0 });
}

const withCounts = (status: StatefulSetStatus): StatefulSetStatus => ({
  ...withoutZeros(status),
  replicas: status.replicas,
  availableReplicas: status.availableReplicas ?? 0,
  collisionCount: status.collisionCount ?? 0,
});
