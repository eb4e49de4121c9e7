import { hasPodSucceeded, isPodFinished, type Pod } from '@holdfast/api';
import { isTerminating, uidOf } from '../../common/meta.ts';
import { UNCOUNTED_PODS_MAX } from '../../limits.ts';
import { hasFailed, hasLimitPerIndex, indexOf, isIndexed } from './facts.ts';
import type { IndexSet } from './indexes.ts';
import { lastFailedPods } from './per-index.ts';
import { countsAsFailed, type Picture } from './picture.ts';
import type { Verdict } from './verdict.ts';

/** The next state of the books. */
export interface Accounts {
  readonly noted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly succeeded: number;
  readonly failed: number;
  readonly succeededIndexes: IndexSet;
  /** Pods that the books know from now on: they may go as soon as this state is stored. */
  readonly letGo: readonly Pod[];
  /** True when every finished pod is counted. */
  readonly isComplete: boolean;
}

/**
 * Counts exactly, whatever crashes in between: a pod that ended is first noted by uid (of an indexed Job: by its index, which
 * cannot be counted twice), then loses its finalizer, and is moved from the notes to the count when it is seen without.
 */
export function account(picture: Picture, verdict: Verdict | undefined): Accounts {
  const { job, tracked, noted } = picture;
  const trackedUids = new Set(tracked.map(uidOf));
  const stillNoted = (uids: ReadonlySet<string>): string[] => [...uids].filter((uid) => trackedUids.has(uid));
  const succeeded = stillNoted(noted.succeeded);
  const failed = stillNoted(noted.failed);
  const counts = {
    succeeded: (job.status.succeeded ?? 0) + noted.succeeded.size - succeeded.length,
    failed: (job.status.failed ?? 0) + noted.failed.size - failed.length,
  };
  const ended = tracked.filter(mayGo(picture, verdict));
  const letGo: Pod[] = [];
  const indexes: number[] = [];
  for (const pod of ended) {
    if (succeeded.length + failed.length + indexes.length >= UNCOUNTED_PODS_MAX) break;
    letGo.push(pod);
    const uid = uidOf(pod);
    if (noted.succeeded.has(uid) || noted.failed.has(uid)) continue;
    if (!hasPodSucceeded(pod)) {
      if (endsAsFailed(picture, verdict, pod) && countsAsFailed(job, pod)) failed.push(uid);
    } else if (!isIndexed(job)) succeeded.push(uid);
    else indexes.push(...[indexOf(job, pod)].filter((index) => index !== undefined));
  }
  return {
    noted: { succeeded, failed },
    ...counts,
    succeededIndexes: picture.succeededIndexes,
    letGo,
    isComplete: succeeded.length + failed.length + tracked.length === 0,
  };
}

/** Returns which pods are completely counted. */
function mayGo(picture: Picture, verdict: Verdict | undefined): (pod: Pod) => boolean {
  const { job } = picture;
  const kept = hasLimitPerIndex(job) && verdict === undefined ? lastFailedPods(picture) : new Map<number, Pod>();
  return (pod) => {
    if (isTerminating(job) || hasPodSucceeded(pod)) return true;
    if (verdict !== undefined && (isTerminating(pod) || isPodFinished(pod))) return true;
    return hasFailed(job, pod) && kept.get(indexOf(job, pod) ?? -1) !== pod;
  };
}

/** When the Job has failed, a pod that is deleted because of it counts as failed. */
const endsAsFailed = ({ job }: Picture, verdict: Verdict | undefined, pod: Pod): boolean =>
  hasFailed(job, pod) || (verdict?.type === 'FailureTarget' && isTerminating(pod));
