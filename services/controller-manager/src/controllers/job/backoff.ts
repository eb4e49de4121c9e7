import { hasPodFailed, hasPodSucceeded } from '@holdfast/api';
import { isTerminating } from '../../common/meta.ts';
import { finishedAt } from './facts.ts';
import { backoffLeftMs } from './per-index.ts';
import type { Picture } from './picture.ts';

/**
 * Returns how long no new pod starts after failures. It depends on the existing pods, so that a restarted controller
 * waits equally long. Failures whose pods are gone are known from the Job's count, as long as nothing has succeeded. A
 * deleted pod did not fail.
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
