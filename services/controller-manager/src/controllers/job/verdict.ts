import type { Job } from '@holdfast/api';
import { timeOf } from '../../common/meta.ts';
import { hasFailed, isSuspended, trueCondition } from './facts.ts';
import { meaningOf } from './failure-policy.ts';
import type { Picture } from './picture.ts';
import { metRule } from './success-policy.ts';

/**
 * The decision that the Job ends, and how. It is stored before pods are released; the Job ends when all of them are
 * counted.
 */
export interface Verdict {
  readonly type: 'FailureTarget' | 'SuccessCriteriaMet';
  readonly reason: string;
  readonly message: string;
  readonly isStored: boolean;
}

export function verdictOf(picture: Picture): Verdict | undefined {
  const { job } = picture;
  for (const type of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const stored = trueCondition(job, type);
    if (stored !== undefined) {
      return { type, reason: stored.reason ?? '', message: stored.message ?? '', isStored: true };
    }
  }
  const failure = failureOf(picture);
  if (failure !== undefined) return { type: 'FailureTarget', ...failure, isStored: false };
  const success = successOf(picture);
  return success && { type: 'SuccessCriteriaMet', ...success, isStored: false };
}

interface Why {
  readonly reason: string;
  readonly message: string;
}

function failureOf(picture: Picture): Why | undefined {
  const { job, failed, now } = picture;
  const policy = policyFailure(picture);
  if (policy !== undefined) return { reason: 'PodFailurePolicy', message: policy };
  if (failed > (job.spec.backoffLimit ?? 6) || restartsExceedLimit(picture)) {
    return { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  const leftMs = deadlineLeftMs(job, now);
  if (leftMs !== undefined && leftMs <= 0) {
    return { reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  }
  return indexFailure(picture);
}

function policyFailure({ job, tracked }: Picture): string | undefined {
  if (job.spec.podFailurePolicy === undefined) return undefined;
  for (const pod of tracked) {
    const meaning = hasFailed(job, pod) ? meaningOf(job, pod) : undefined;
    if (meaning?.action === 'FailJob') return meaning.message;
  }
  return undefined;
}

/** Pods that restart their containers in place fail without ending: their restarts count. */
function restartsExceedLimit({ job, active }: Picture): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false;
  const restarts = active
    .flatMap(({ status }) => [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return restarts > 0 && restarts >= (job.spec.backoffLimit ?? 6);
}

/** Returns how long the Job may still be active; `undefined` without a limit. */
export function deadlineLeftMs(job: Job, now: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  if (activeDeadlineSeconds === undefined || job.status.startTime === undefined || isSuspended(job)) return undefined;
  return timeOf(job.status.startTime) + activeDeadlineSeconds * 1000 - now;
}

function indexFailure({ job, failedIndexes, succeededIndexes }: Picture): Why | undefined {
  if (failedIndexes === undefined || failedIndexes.size === 0) return undefined;
  const { maxFailedIndexes, completions = 0 } = job.spec;
  if (maxFailedIndexes !== undefined && failedIndexes.size > maxFailedIndexes) {
    const message = 'Job has exceeded the specified maximal number of failed indexes';
    return { reason: 'MaxFailedIndexesExceeded', message };
  }
  if (failedIndexes.size + succeededIndexes.size < completions) return undefined;
  return { reason: 'FailedIndexes', message: 'Job has failed indexes' };
}

function successOf({ job, succeeded, succeededIndexes, active }: Picture): Why | undefined {
  const { completions, successPolicy } = job.spec;
  const rule = metRule(successPolicy, succeededIndexes, completions ?? 0);
  if (rule !== undefined) return { reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` };
  const isEnough = completions === undefined ? succeeded > 0 : succeeded >= completions;
  if (!isEnough || active.length > 0) return undefined;
  return { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };
}
