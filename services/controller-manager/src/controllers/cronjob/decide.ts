import { type CronJob, type CronJobStatus, type Job, jobEnd, type ObjectReference } from '@holdfast/api';
import type { EventText } from '@holdfast/client';
import { formatTime } from '@holdfast/platform';
import { isSame } from '../../common/hash.ts';
import { compareText, isTerminating, nameOf, namespaceOf, timeOf, uidOf } from '../../common/meta.ts';
import { CRON_RECHECK_MS } from '../../limits.ts';
import { buildJob, jobNameAt, SCHEDULED_AT } from './build-job.ts';
import { type Due, dueOf } from './due.ts';
import type { Schedule, ScheduleProblem } from './schedule.ts';

export interface CronJobSnapshot {
  readonly cronJob: CronJob;
  /** Every Job it controls. */
  readonly jobs: readonly Job[];
  /** Uids of active Jobs that the cache does not have, but the API has. */
  readonly unseen: ReadonlySet<string>;
  readonly schedule: Schedule | ScheduleProblem;
}

export interface CronJobDecision {
  readonly events: readonly EventText[];
  /** Finished Jobs beyond the history. */
  readonly forget: readonly Job[];
  /** Active Jobs that make room for the next one. */
  readonly replace: readonly ObjectReference[];
  readonly start: { readonly job: Job; readonly scheduled: number } | undefined;
  /** The status before anything is started. */
  readonly status: CronJobStatus;
  readonly lookAgainMs: number | undefined;
}

export function decide(snapshot: CronJobSnapshot, now: number): CronJobDecision {
  const { cronJob } = snapshot;
  const seen = look(snapshot);
  const idle: CronJobDecision = {
    ...seen,
    forget: beyondHistory(snapshot),
    replace: [],
    start: undefined,
    lookAgainMs: undefined,
  };
  if (isTerminating(cronJob)) return { ...idle, forget: [] };
  if (cronJob.spec.suspend === true) return idle;
  const { schedule } = snapshot;
  if ('reason' in schedule) return told(idle, schedule.reason, schedule.message);
  const due = dueOf(cronJob, schedule, now);
  if (due === undefined) return told(idle, 'InvalidSchedule', `invalid schedule: ${quoted(cronJob)} never comes`);
  const warned = due.tooMany ? told(idle, 'TooManyMissedTimes', TOO_MANY) : idle;
  return startDue(cronJob, due, { ...warned, lookAgainMs: waitFor(due, now) }, now);
}

const TOO_MANY = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';

const quoted = ({ spec }: CronJob): string => JSON.stringify(spec.schedule);

/** A clock that is set forward is noticed after a while, not only when the timer of before has run out. */
const waitFor = ({ next }: Due, now: number): number =>
  next === undefined ? CRON_RECHECK_MS : Math.min(CRON_RECHECK_MS, Math.max(1, next - now));

function told(decision: CronJobDecision, reason: string, message: string): CronJobDecision {
  return { ...decision, events: [...decision.events, { type: 'Warning', reason, message }] };
}

function startDue(cronJob: CronJob, { at }: Due, idle: CronJobDecision, now: number): CronJobDecision {
  const { startingDeadlineSeconds, concurrencyPolicy } = cronJob.spec;
  const active = idle.status.active ?? [];
  if (at === undefined || isStarted(cronJob, active, at)) return idle;
  if (startingDeadlineSeconds !== undefined && at + startingDeadlineSeconds * 1000 < now) {
    return told(idle, 'MissSchedule', `Missed scheduled time to start a job: ${formatTime(at)}`);
  }
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    return { ...idle, events: [...idle.events, { type: 'Normal', reason: 'JobAlreadyActive', message }] };
  }
  const start = { job: buildJob(cronJob, at), scheduled: at };
  return { ...idle, start, replace: concurrencyPolicy === 'Replace' ? active : [] };
}

const isStarted = (cronJob: CronJob, active: readonly ObjectReference[], at: number): boolean =>
  timeOf(cronJob.status.lastScheduleTime) === at || active.some(({ name }) => name === jobNameAt(cronJob, at));

/** The status with a Job that has just been started. */
export function withStarted(status: CronJobStatus, job: Job, scheduled: number): CronJobStatus {
  const others = (status.active ?? []).filter(({ uid }) => uid !== uidOf(job));
  return { ...status, active: [...others, referenceTo(job)], lastScheduleTime: formatTime(scheduled) };
}

export function withoutActive(status: CronJobStatus, gone: readonly ObjectReference[]): CronJobStatus {
  const uids = new Set(gone.map(({ uid }) => uid));
  return withActive(
    status,
    (status.active ?? []).filter(({ uid }) => !uids.has(uid)),
  );
}

function withActive({ active: _active, ...rest }: CronJobStatus, active: readonly ObjectReference[]): CronJobStatus {
  return active.length === 0 ? rest : { ...rest, active: [...active] };
}

const referenceTo = (job: Job): ObjectReference => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  namespace: namespaceOf(job),
  name: nameOf(job),
  uid: uidOf(job),
  ...(job.metadata.resourceVersion === undefined ? {} : { resourceVersion: job.metadata.resourceVersion }),
});

/** Returns how a Job ended; `undefined` while it runs. */
export const endOf = (job: Job): string | undefined => jobEnd(job)?.type;

/** Derives from the Jobs: active ones, finished ones, the last success. */
function look({ cronJob, jobs, unseen }: CronJobSnapshot): Pick<CronJobDecision, 'events' | 'status'> {
  const listed = cronJob.status.active ?? [];
  const byUid = new Map(jobs.map((job) => [uidOf(job), job]));
  const isListed = new Set(listed.map(({ uid }) => uid));
  const isRunning = ({ uid = '' }: ObjectReference): boolean => {
    const job = byUid.get(uid);
    return job === undefined ? unseen.has(uid) : endOf(job) === undefined;
  };
  const unlisted = jobs.filter((job) => !isListed.has(uidOf(job)) && endOf(job) === undefined);
  const forgotten = unlisted.filter(
    (job) => job.metadata.annotations?.[SCHEDULED_AT] !== undefined && !isTerminating(job),
  );
  const lost = listed.filter((reference) => !isRunning(reference));
  const events = [
    ...lost.map((reference) => lossOf(reference, byUid.get(reference.uid ?? ''))),
    ...unlisted.filter((job) => !forgotten.includes(job)).map(strange),
  ];
  const success = lastSuccess(jobs, cronJob.status.lastSuccessfulTime);
  const status = withActive(cronJob.status, [...listed.filter(isRunning), ...forgotten.map(referenceTo)]);
  return { events, status: success === undefined ? status : { ...status, lastSuccessfulTime: success } };
}

function lossOf({ name }: ObjectReference, job: Job | undefined): EventText {
  if (job === undefined) return { type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name}` };
  const message = `Saw completed job: ${name}, condition: ${endOf(job)}`;
  return { type: 'Normal', reason: 'SawCompletedJob', message };
}

const strange = (job: Job): EventText => ({
  type: 'Warning',
  reason: 'UnexpectedJob',
  message: `Saw a job that the controller did not create or forgot: ${nameOf(job)}`,
});

function lastSuccess(jobs: readonly Job[], known: string | undefined): string | undefined {
  const times = jobs.filter((job) => endOf(job) === 'Complete').map(({ status }) => status.completionTime);
  return [known, ...times].reduce((last, time) => (timeOf(time) > timeOf(last) ? time : last), undefined);
}

function beyondHistory({ cronJob, jobs }: CronJobSnapshot): readonly Job[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec;
  const oldest = (end: string, limit: number | undefined): readonly Job[] => {
    const ended = jobs.filter((job) => endOf(job) === end && !isTerminating(job)).sort(byStart);
    return limit === undefined ? [] : ended.slice(0, Math.max(0, ended.length - limit));
  };
  return [...oldest('Complete', successfulJobsHistoryLimit), ...oldest('Failed', failedJobsHistoryLimit)];
}

const byStart = (a: Job, b: Job): number =>
  timeOf(a.status.startTime) - timeOf(b.status.startTime) || compareText(nameOf(a), nameOf(b));

export const isChanged = (cronJob: CronJob, status: CronJobStatus): boolean => !isSame(cronJob.status, status);
