import { type Job, jobEnd } from '@holdfast/api';
import { isTerminating, timeOf } from '../../common/meta.ts';

/** Returns the time until the Job is deleted, 0 or less when it is due; `undefined` when it stays. */
export function timeToLiveMs(job: Job, now: number): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec;
  if (ttlSecondsAfterFinished === undefined || isTerminating(job)) return undefined;
  const end = jobEnd(job);
  if (end?.lastTransitionTime === undefined) return undefined;
  return timeOf(end.lastTransitionTime) + ttlSecondsAfterFinished * 1000 - now;
}
