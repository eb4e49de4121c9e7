import type { CronJob } from '@holdfast/api';
import { createdAt, timeOf } from '../../common/meta.ts';
import { CRON_MISSED_STARTS_MAX } from '../../limits.ts';
import type { Schedule } from './schedule.ts';

/** What of the schedule has passed since a job was last started. */
export interface Due {
  /** The latest time that has passed; earlier ones are not made up for. */
  readonly at: number | undefined;
  /** So many have passed that something is wrong with a clock or a deadline. */
  readonly tooMany: boolean;
  /** The next time that has not passed yet. */
  readonly next: number | undefined;
}

/** Undefined when the schedule never comes, or comes without a second in between. */
export function dueOf(cronJob: CronJob, schedule: Schedule, now: number): Due | undefined {
  const { lastScheduleTime } = cronJob.status;
  const { startingDeadlineSeconds } = cronJob.spec;
  const since = lastScheduleTime === undefined ? createdAt(cronJob) : timeOf(lastScheduleTime);
  const passed = latestPassed(schedule, since, now);
  if (passed === undefined) return undefined;
  const next = schedule.next(Math.max(now, passed.at ?? now));
  if (startingDeadlineSeconds === undefined) return { ...passed, next };
  // What is too late to start anyway is no sign of trouble.
  const startable = latestPassed(schedule, Math.max(since, now - startingDeadlineSeconds * 1000), now);
  return { ...passed, tooMany: startable?.tooMany === true, next };
}

/** Looks at two times of the schedule and jumps close to now: years of missed minutes cost no more than one. */
function latestPassed(schedule: Schedule, since: number, now: number): Omit<Due, 'next'> | undefined {
  const first = schedule.next(since);
  if (first === undefined) return undefined;
  if (now < first) return { at: undefined, tooMany: false };
  const second = schedule.next(first);
  if (second === undefined || now < second) return { at: first, tooMany: false };
  const interval = Math.round((second - first) / 1000) * 1000;
  if (interval < 1000) return undefined;
  const missed = Math.floor((now - first) / interval) + 1;
  let at = first;
  const start = first + Math.max(0, missed - 2) * interval;
  for (let next = schedule.next(start); next !== undefined && next <= now; next = schedule.next(next)) at = next;
  return { at, tooMany: missed > CRON_MISSED_STARTS_MAX };
}
