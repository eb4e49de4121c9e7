import { isPodReady, type Job, type JobCondition, type JobStatus } from '@holdfast/api';
import type { EventText } from '@holdfast/client';
import { formatTime } from '@holdfast/platform';
import { findCondition, withCondition } from '../../common/conditions.ts';
import { isSame } from '../../common/hash.ts';
import { isTerminating } from '../../common/meta.ts';
import type { Accounts } from './accounting.ts';
import { isIndexed, isSuspended } from './facts.ts';
import type { Picture } from './picture.ts';
import type { Verdict } from './verdict.ts';

export interface StatusDecision {
  /** Absent when the stored status is up to date. */
  readonly status: JobStatus | undefined;
  /** Recorded after the status is stored. */
  readonly events: readonly EventText[];
}

export function decideStatus(picture: Picture, verdict: Verdict | undefined, accounts: Accounts): StatusDecision {
  const counted = withCounts(picture, accounts);
  const { status, events } = withTurns(picture, verdict, { status: counted, events: [] });
  const next = verdict === undefined ? { status, events } : withVerdict(picture, verdict, accounts, status);
  return isSame(comparable(picture.job.status), comparable(next.status)) ? { status: undefined, events: [] } : next;
}

interface Next {
  readonly status: JobStatus;
  readonly events: readonly EventText[];
}

function withCounts(picture: Picture, accounts: Accounts): JobStatus {
  const { job, active, terminating, failedIndexes } = picture;
  const { succeeded, failed } = accounts.noted;
  const completedIndexes = accounts.succeededIndexes.toString();
  const { completedIndexes: _old, failedIndexes: _oldFailed, ...kept } = job.status;
  return comparable({
    ...kept,
    active: active.length,
    ready: active.filter(isPodReady).length,
    terminating: terminating.length,
    succeeded: isIndexed(job) ? accounts.succeededIndexes.size : accounts.succeeded,
    failed: accounts.failed,
    ...(completedIndexes === '' ? {} : { completedIndexes }),
    ...(failedIndexes === undefined ? {} : { failedIndexes: failedIndexes.toString() }),
    uncountedTerminatedPods: {
      ...(succeeded.length === 0 ? {} : { succeeded: [...succeeded] }),
      ...(failed.length === 0 ? {} : { failed: [...failed] }),
    },
  });
}

/** Omits zero counts, except `ready` and `terminating`. */
function comparable(status: JobStatus): JobStatus {
  const { active, succeeded, failed, ...rest } = status;
  return {
    ...rest,
    ...(active ? { active } : {}),
    ...(succeeded ? { succeeded } : {}),
    ...(failed ? { failed } : {}),
  };
}

/** Starts, suspends or resumes the Job. */
function withTurns({ job, now }: Picture, verdict: Verdict | undefined, next: Next): Next {
  // A finished Job needs a start time: the API refuses an end without one, even for a Job that was always suspended.
  if (verdict !== undefined) return withStart(job, next, now);
  if (isTerminating(job)) return isSuspended(job) ? next : withStart(job, next, now);
  const suspended = findCondition(job.status.conditions, 'Suspended');
  if (isSuspended(job) && suspended?.status !== 'True') {
    const told = { reason: 'JobSuspended', message: 'Job suspended' };
    return withTurn(next, condition('Suspended', 'True', told, now), 'Suspended');
  }
  if (!isSuspended(job) && suspended?.status === 'True') {
    const told = { reason: 'JobResumed', message: 'Job resumed' };
    const resumed = withTurn(next, condition('Suspended', 'False', told, now), 'Resumed');
    // The time it was suspended does not count towards its deadline.
    return { ...resumed, status: { ...resumed.status, startTime: formatTime(now) } };
  }
  return isSuspended(job) ? next : withStart(job, next, now);
}

const withStart = (job: Job, next: Next, now: number): Next =>
  job.status.startTime === undefined ? { ...next, status: { ...next.status, startTime: formatTime(now) } } : next;

function withTurn({ status, events }: Next, changed: JobCondition, reason: string): Next {
  const conditions = [...withCondition(status.conditions ?? [], changed)];
  return {
    status: { ...status, conditions },
    events: [...events, { type: 'Normal', reason, message: changed.message ?? '' }],
  };
}

/** First the verdict; when nothing of the Job is alive or uncounted any more, the end. */
function withVerdict(picture: Picture, verdict: Verdict, accounts: Accounts, status: JobStatus): Next {
  const { job, active, terminating, now } = picture;
  const conditions = status.conditions ?? [];
  if (!verdict.isStored) {
    const changed = withCondition(conditions, condition(verdict.type, 'True', verdict, now));
    return { status: { ...status, conditions: [...changed] }, events: [] };
  }
  if (active.length + terminating.length > 0 || !accounts.isComplete) return { status, events: [] };
  const isSuccess = verdict.type === 'SuccessCriteriaMet';
  const end = condition(isSuccess ? 'Complete' : 'Failed', 'True', verdict, now);
  return {
    status: {
      ...status,
      conditions: [...withCondition(conditions, end)],
      ...(isSuccess ? { completionTime: formatTime(now) } : {}),
    },
    events: isSuccess
      ? successEvents(job, status)
      : [{ type: 'Warning', reason: verdict.reason, message: verdict.message }],
  };
}

function successEvents({ spec }: Job, status: JobStatus): readonly EventText[] {
  const tooMany = spec.completions !== undefined && (status.succeeded ?? 0) > spec.completions;
  const message = 'Too many succeeded pods running after completion count reached';
  return [
    ...(tooMany ? [{ type: 'Warning', reason: 'TooManySucceededPods', message } as const] : []),
    { type: 'Normal', reason: 'Completed', message: 'Job completed' },
  ];
}

function condition(
  type: string,
  status: 'True' | 'False',
  { reason, message }: { readonly reason: string; readonly message: string },
  now: number,
): JobCondition {
  const time = formatTime(now);
  return { type, status, reason, message, lastProbeTime: time, lastTransitionTime: time };
}
