import type { Job, Pod } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { JOB_BACKOFF_BASE_MS, JOB_BACKOFF_MAX_MS } from '../../limits.ts';
import { finishedAt, hasFailed, indexOf } from './facts.ts';
import { isIgnored } from './failure-policy.ts';
import type { Picture } from './picture.ts';

export const INDEX_FAILURES = 'batch.kubernetes.io/job-index-failure-count';
export const INDEX_IGNORED_FAILURES = 'batch.kubernetes.io/job-index-ignored-failure-count';

const countIn = (pod: Pod, annotation: string): number => {
  const text = ownValue(pod.metadata.annotations, annotation);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
};

/** Pods of the index that failed before this one. */
export const indexFailures = (pod: Pod): number => countIn(pod, INDEX_FAILURES);

const allFailures = (pod: Pod): number => indexFailures(pod) + countIn(pod, INDEX_IGNORED_FAILURES);

/**
 * The last failed pod of every index that waits for its next one. It carries the number of failures of its index, so it is
 * not counted and let go before its successor carries the number on.
 */
export function lastFailedPods({ job, tracked, active, succeededIndexes, failedIndexes }: Picture): Map<number, Pod> {
  const activeIndexes = new Set(active.map((pod) => indexOf(job, pod)));
  const last = new Map<number, Pod>();
  for (const pod of tracked) {
    const index = indexOf(job, pod);
    if (index === undefined || !hasFailed(job, pod) || activeIndexes.has(index)) continue;
    if (succeededIndexes.has(index) || failedIndexes?.has(index) === true) continue;
    const known = last.get(index);
    if (known === undefined || isLater(pod, known)) last.set(index, pod);
  }
  return last;
}

const isLater = (pod: Pod, than: Pod): boolean =>
  allFailures(pod) > allFailures(than) ||
  (allFailures(pod) === allFailures(than) && finishedAt(pod) >= finishedAt(than));

/** The annotations with which the next pod of an index inherits the failures of earlier ones. */
export function failureAnnotations(job: Job, last: Pod | undefined): Record<string, string> {
  if (last === undefined) return { [INDEX_FAILURES]: '0' };
  const ignored = isIgnored(job, last);
  const ignoredFailures = countIn(last, INDEX_IGNORED_FAILURES) + (ignored ? 1 : 0);
  return {
    [INDEX_FAILURES]: String(indexFailures(last) + (ignored ? 0 : 1)),
    ...(ignoredFailures === 0 ? {} : { [INDEX_IGNORED_FAILURES]: String(ignoredFailures) }),
  };
}

/** Returns how long the index must wait for its next pod. */
export const indexBackoffMs = (last: Pod | undefined, now: number): number =>
  last === undefined ? 0 : backoffLeftMs(allFailures(last) + 1, finishedAt(last), now);

/** 10 s after the first failure, twice as long after each further one. */
export function backoffLeftMs(failures: number, lastFailure: number, now: number): number {
  if (failures <= 0) return 0;
  const delay = Math.min(JOB_BACKOFF_MAX_MS, JOB_BACKOFF_BASE_MS * 2 ** Math.min(failures - 1, 30));
  return Math.max(0, lastFailure + delay - now);
}
