import {
  COMPLETION_INDEX_ANNOTATION,
  hasPodFailed,
  hasPodSucceeded,
  type Job,
  type JobCondition,
  jobEnd,
  type Pod,
  podCondition,
} from '@holdfast/api';
import { findCondition } from '../../common/conditions.ts';
import { createdAt, isTerminating, timeOf } from '../../common/meta.ts';

/** A pod with it is not counted yet, and cannot disappear before it is. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
export const OWN_MANAGER = 'kubernetes.io/job-controller';

export const isIndexed = (job: Job): boolean => job.spec.completionMode === 'Indexed';
export const isSuspended = (job: Job): boolean => job.spec.suspend === true;
export const hasLimitPerIndex = (job: Job): boolean => isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined;

/** True when another controller manages the Job. */
export const isManagedElsewhere = (job: Job): boolean =>
  job.spec.managedBy !== undefined && job.spec.managedBy !== OWN_MANAGER;

/** A replacement waits until the pod before it has ended. */
export const replacesFailedOnly = (job: Job): boolean => job.spec.podReplacementPolicy === 'Failed';

export const trueCondition = (job: Job, type: string): JobCondition | undefined => {
  const condition = findCondition(job.status.conditions, type);
  return condition?.status === 'True' ? condition : undefined;
};

export const isJobFinished = (job: Job): boolean => jobEnd(job) !== undefined;

export const isTracked = (pod: Pod): boolean => pod.metadata.finalizers?.includes(TRACKING_FINALIZER) === true;

export const withTracking = (pod: Pod): Pod =>
  isTracked(pod) ? pod : withFinalizers(pod, [...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER]);

export const withoutTracking = (pod: Pod): Pod =>
  withFinalizers(
    pod,
    (pod.metadata.finalizers ?? []).filter((name) => name !== TRACKING_FINALIZER),
  );

function withFinalizers(pod: Pod, finalizers: string[]): Pod {
  const { finalizers: _old, ...metadata } = pod.metadata;
  return { ...pod, metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers } };
}

/** The index that the pod works on, if it is one that the Job still has. */
export function indexOf(job: Job, pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[COMPLETION_INDEX_ANNOTATION];
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const index = Number(text);
  return index < (job.spec.completions ?? 0) ? index : undefined;
}

/** A pod that is being deleted counts as failed, unless the Job waits for how it ends. */
export function hasFailed(job: Job, pod: Pod): boolean {
  if (hasPodFailed(pod)) return true;
  return !replacesFailedOnly(job) && isTerminating(pod) && !hasPodSucceeded(pod);
}

/** Returns when the last container ended, or the closest known time. */
export function finishedAt(pod: Pod): number {
  const ends = (pod.status.containerStatuses ?? []).map(({ state }) => timeOf(state?.terminated?.finishedAt));
  if (ends.length > 0 && ends.every((end) => end > 0)) return Math.max(...ends);
  return timeOf(podCondition(pod, 'Ready')?.lastTransitionTime) || createdAt(pod);
}
