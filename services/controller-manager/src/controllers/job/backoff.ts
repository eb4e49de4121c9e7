import { hasPodFailed, hasPodSucceeded } from '@holdfast/api';
import { isTerminating } from '../../common/meta.ts';
import { finishedAt } from './facts.ts';
import { backoffLeftMs } from './per-index.ts';
import type { Picture } from './picture.ts';

/**
 * How long no new pod is started after failures. It follows from the pods that are there, so that a restarted controller waits
 * as long; failures whose pods are gone are known by the count of the Job, as long as nothing has succeeded. A pod that was
 * deleted did not fail at its work.
 */
export function jobBackoffMs({ pods, failed, succeeded, now }: Picture): number {
  const lastSuccess = pods.filter(hasPodSucceeded).reduce((last, pod) => Math.max(last, finishedAt(pod)), 0);
  const failures = pods
    .filter((pod) => hasPodFailed(pod) && !isTerminating(pod))
    .map(finishedAt)
    .filter((at) => at > lastSuccess);
  if (failures.length === 0) return 0;
  const count = succeeded === 0 ? Math.max(failures.length, failed) : failures.length;
  return backoffLeftMs(
    count,
    failures.reduce((last, at) => Math.max(last, at), 0),
    now,
  );
}
