import { type DaemonSet, type DaemonSetStatus, isPodFinished, isPodReady, type Pod } from '@holdfast/api';
import { isSame, withoutZeros } from '../../common/hash.ts';
import { generationOf } from '../../common/meta.ts';
import { isAvailable } from '../../common/pods.ts';
import { type DaemonNode, REVISION_LABEL, revisionOf } from './decide.ts';

/** Returns the status to write; `undefined` when the stored one is up to date. */
export function decideStatus(set: DaemonSet, nodes: readonly DaemonNode[], now: number): DaemonSetStatus | undefined {
  const next = count(set, nodes, now);
  return isSame(comparable(set.status), next) ? undefined : next;
}

function count(set: DaemonSet, nodes: readonly DaemonNode[], now: number): DaemonSetStatus {
  const wanted = nodes.filter(({ shouldRun }) => shouldRun);
  const pods = wanted.map(({ living, ending }) => [...living, ...ending].filter((pod) => !isPodFinished(pod)));
  const nodesWith = (test: (pod: Pod) => boolean): number => pods.filter((here) => here.some(test)).length;
  const numberAvailable = nodesWith((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now));
  const revision = revisionOf(set);
  return comparable({
    currentNumberScheduled: pods.filter((here) => here.length > 0).length,
    numberMisscheduled: nodes.filter(({ shouldRun, living }) => !shouldRun && living.length > 0).length,
    desiredNumberScheduled: wanted.length,
    numberReady: nodesWith(isPodReady),
    updatedNumberScheduled: nodesWith((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision),
    numberAvailable,
    numberUnavailable: wanted.length - numberAvailable,
    observedGeneration: generationOf(set),
    ...(set.status.collisionCount === undefined ? {} : { collisionCount: set.status.collisionCount }),
    ...(set.status.conditions === undefined ? {} : { conditions: set.status.conditions }),
  });
}

/** Four counts are always present, the others only when they are not zero. */
const comparable = (status: DaemonSetStatus): DaemonSetStatus => ({
  ...withoutZeros(status),
  currentNumberScheduled: status.currentNumberScheduled ?? 0,
  numberMisscheduled: status.numberMisscheduled ?? 0,
  desiredNumberScheduled: status.desiredNumberScheduled ?? 0,
  numberReady: status.numberReady ?? 0,
});
