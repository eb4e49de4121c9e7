import { isPodReady, type Pod, type ReplicaSet, type ReplicaSetCondition, type ReplicaSetStatus } from '@holdfast/api';
import { hasPairs } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { findCondition, withCondition, withoutCondition } from '../../common/conditions.ts';
import { isSame, withoutZeros } from '../../common/hash.ts';
import { generationOf } from '../../common/meta.ts';
import { isAvailable } from '../../common/pods.ts';

/** Why this pass could not bring the pods to the desired number. */
export interface PodWriteFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

export interface StatusInput {
  readonly replicaSet: ReplicaSet;
  readonly claimed: readonly Pod[];
  readonly failure: PodWriteFailure | undefined;
}

/** Returns the status to write; `undefined` when the stored one is up to date. */
export function decideStatus(input: StatusInput, now: number): ReplicaSetStatus | undefined {
  const { replicaSet } = input;
  const next = calculateStatus(input, now);
  return isSame(comparable(replicaSet.status), next) ? undefined : next;
}

function calculateStatus({ replicaSet, claimed, failure }: StatusInput, now: number): ReplicaSetStatus {
  const templateLabels = replicaSet.spec.template.metadata.labels ?? {};
  const minReadySeconds = replicaSet.spec.minReadySeconds ?? 0;
  const conditions = failureCondition(replicaSet.status.conditions ?? [], failure, now);
  const ready = claimed.filter(isPodReady);
  const available = minReadySeconds === 0 ? ready : ready.filter((pod) => isAvailable(pod, minReadySeconds, now));
  return comparable({
    replicas: claimed.length,
    fullyLabeledReplicas: claimed.filter((pod) => hasPairs(pod.metadata.labels, templateLabels)).length,
    readyReplicas: ready.length,
    availableReplicas: available.length,
    observedGeneration: generationOf(replicaSet),
    ...(conditions.length === 0 ? {} : { conditions: [...conditions] }),
  });
}

/** `replicas` is always present, every other count only when it is not zero. */
const comparable = (status: ReplicaSetStatus): ReplicaSetStatus => ({
  ...withoutZeros(status),
  replicas: status.replicas ?? 0,
});

function failureCondition(
  conditions: readonly ReplicaSetCondition[],
  failure: PodWriteFailure | undefined,
  now: number,
): readonly ReplicaSetCondition[] {
  const old = findCondition(conditions, 'ReplicaFailure');
  if (failure === undefined) return old === undefined ? conditions : withoutCondition(conditions, 'ReplicaFailure');
  if (old?.status === 'True' && old.reason === failure.reason) return conditions;
  const condition: ReplicaSetCondition = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: failure.reason,
    message: failure.message,
    lastTransitionTime: formatTime(now),
  };
  return withCondition(conditions, condition);
}
