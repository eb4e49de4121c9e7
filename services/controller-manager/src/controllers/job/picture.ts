import { hasPodSucceeded, isPodFinished, type Job, type Pod } from '@holdfast/api';
import { isTerminating, uidOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { hasFailed, hasLimitPerIndex, indexOf, isIndexed, isTracked } from './facts.ts';
import { isIgnored, meaningOf } from './failure-policy.ts';
import { IndexSet } from './indexes.ts';
import { indexFailures } from './per-index.ts';

/** The state of a Job and its pods before a decision. */
export interface Picture {
  readonly job: Job;
  /** All its pods, counted ones included. */
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
  /** Not counted yet. */
  readonly tracked: readonly Pod[];
  /** Uids that the status has noted and not yet added to its counts. */
  readonly noted: { readonly succeeded: ReadonlySet<string>; readonly failed: ReadonlySet<string> };
  /** Pods that succeeded or failed so far, noted and new ones included; of an indexed Job the succeeded indexes. */
  readonly succeeded: number;
  readonly failed: number;
  /** Empty unless the Job is indexed. */
  readonly succeededIndexes: IndexSet;
  /** Undefined unless failures are limited per index. */
  readonly failedIndexes: IndexSet | undefined;
  readonly now: number;
}

export function pictureOf(job: Job, pods: readonly Pod[], now: number): Picture {
  const { uncountedTerminatedPods: uncounted } = job.status;
  const noted = { succeeded: new Set(uncounted?.succeeded), failed: new Set(uncounted?.failed) };
  const tracked = pods.filter(isTracked);
  const isNew = (pod: Pod): boolean => !noted.succeeded.has(uidOf(pod)) && !noted.failed.has(uidOf(pod));
  const newlySucceeded = tracked.filter((pod) => hasPodSucceeded(pod) && isNew(pod));
  const newlyFailed = tracked.filter((pod) => hasFailed(job, pod) && isNew(pod));
  const succeededIndexes = isIndexed(job) ? succeededIn(job, newlySucceeded) : IndexSet.empty;
  return {
    job,
    pods,
    active: pods.filter(isActive),
    terminating: pods.filter((pod) => isTerminating(pod) && !isPodFinished(pod)),
    tracked,
    noted,
    succeeded: isIndexed(job)
      ? succeededIndexes.size
      : (job.status.succeeded ?? 0) + noted.succeeded.size + newlySucceeded.length,
    failed: (job.status.failed ?? 0) + noted.failed.size + newlyFailed.filter((pod) => countsAsFailed(job, pod)).length,
    succeededIndexes,
    failedIndexes: hasLimitPerIndex(job) ? failedIn(job, tracked) : undefined,
    now,
  };
}

/** True when a failed pod adds to the count: one of a removed index does not, nor does an ignored one. */
export const countsAsFailed = (job: Job, pod: Pod): boolean =>
  (!isIndexed(job) || indexOf(job, pod) !== undefined) && !isIgnored(job, pod);

export const indexesOf = (job: Job, pods: readonly Pod[]): readonly number[] =>
  pods.map((pod) => indexOf(job, pod)).filter((index) => index !== undefined);

const succeededIn = (job: Job, pods: readonly Pod[]): IndexSet =>
  IndexSet.parse(job.status.completedIndexes, job.spec.completions ?? 0).with(indexesOf(job, pods));

function failedIn(job: Job, tracked: readonly Pod[]): IndexSet {
  const failed = tracked.filter((pod) => hasFailed(job, pod) && endsIndex(job, pod));
  return IndexSet.parse(job.status.failedIndexes, job.spec.completions ?? 0).with(indexesOf(job, failed));
}

function endsIndex(job: Job, pod: Pod): boolean {
  const { action } = meaningOf(job, pod);
  if (action === 'FailIndex') return true;
  return action !== 'Ignore' && indexFailures(pod) >= (job.spec.backoffLimitPerIndex ?? 0);
}
