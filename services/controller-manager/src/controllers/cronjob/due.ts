import type { CronJob } from '@holdfast/api';
import { createdAt, timeOf } from '../../common/meta.ts';
import { CRON_MISSED_STARTS_MAX, CRON_STEPS_MAX } from '../../limits.ts';
import type { Schedule } from './schedule.ts';

const MS_PER_SECOND = 1000;

/** The scheduled times that passed since the last start. */
export interface Due {
  /** The latest time that has passed; earlier ones are not made up for. */
  readonly at: number | undefined;
  /** So many times have passed that a clock or a deadline must be wrong. */
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
  // Times beyond their starting deadline are not a sign of trouble.
  const startable = latestPassed(schedule, Math.max(since, now - startingDeadlineSeconds * 1000), now);
  return { ...passed, tooMany: startable?.tooMany === true, next };
}

/**
 * Looks at two times of the schedule to estimate how many were missed, and jumps close to now: years of missed
 * minutes cost no more than one.
 */
function latestPassed(schedule: Schedule, since: number, now: number): Omit<Due, 'next'> | undefined {
  const first = schedule.next(since);
  if (first === undefined) return undefined;
  if (now < first) return { at: undefined, tooMany: false };
  const second = schedule.next(first);
  if (second === undefined || now < second) return { at: first, tooMany: false };
  const interval = Math.round((second - first) / 1000) * 1000;
  if (interval < 1000) return undefined;
  const missed = Math.floor((now - first) / interval) + 1;
  const start = first + Math.max(0, missed - 2) * interval;
  return { at: lastPassed(schedule, { first, start, now }), tooMany: missed > CRON_MISSED_STARTS_MAX };
}

/**
 * The last time of the schedule up to `now`. For a regular schedule it is a few steps behind the estimated start. For any other, such
 * as every minute of one month, the steps end early and the rest is halved. (`@every` counts from where it is asked: steps alone do.)
 */
function lastPassed(
  schedule: Schedule,
  { first, start, now }: { readonly first: number; readonly start: number; readonly now: number },
): number {
  let at: number | undefined;
  let end = now;
  for (let step = 0; step < CRON_STEPS_MAX; step++) {
    const next = schedule.next(at ?? start);
    if (next === undefined || next > now) {
      if (at !== undefined) return at;
      end = start;
      break;
    }
    at = next;
  }
  return lastWithin(schedule, at ?? first, end);
}

/** The last time of the schedule up to `end`, given one before. */
function lastWithin(schedule: Schedule, known: number, until: number): number {
  let at = known;
  for (let end = until; end - at >= MS_PER_SECOND; ) {
    const middle = at + Math.floor((end - at) / 2);
    const next = schedule.next(middle);
    if (next !== undefined && next <= end) at = next;
    else end = middle;
  }
  return at;
}
