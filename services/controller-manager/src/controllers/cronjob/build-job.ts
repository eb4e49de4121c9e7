import type { CronJob, Job } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { controllerReference, nameOf, namespaceOf } from '../../common/meta.ts';

/** A job that a schedule started, not a user. */
export const SCHEDULED_AT = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** The name encodes the scheduled time: every controller that starts this run uses the same name. */
export const jobNameAt = (cronJob: CronJob, scheduled: number): string =>
  `${nameOf(cronJob)}-${Math.floor(scheduled / 60_000)}`;

export function buildJob(cronJob: CronJob, scheduled: number): Job {
  const { metadata, spec } = cronJob.spec.jobTemplate;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobNameAt(cronJob, scheduled),
      namespace: namespaceOf(cronJob),
      ...(metadata.labels === undefined ? {} : { labels: { ...metadata.labels } }),
      annotations: { ...metadata.annotations, [SCHEDULED_AT]: timeIn(cronJob.spec.timeZone, scheduled) },
      ownerReferences: [controllerReference(cronJob, { apiVersion: 'batch/v1', kind: 'CronJob' })],
    },
    spec,
    status: {},
  };
}

/** The local time in that zone: `2026-07-01T09:00:00+02:00`. */
function timeIn(timeZone: string | undefined, ms: number): string {
  const offset = timeZone === undefined ? '' : offsetOf(timeZone, ms);
  if (offset === '') return formatTime(ms);
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})/.exec(offset) ?? [];
  const shiftMs = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60_000 : 60_000);
  return formatTime(ms + shiftMs).replace('Z', offset);
}

/** `+02:00`; empty for the offset of UTC. */
function offsetOf(timeZone: string, ms: number): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(ms);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return /[+-]\d{2}:\d{2}/.exec(name)?.[0] ?? '';
}
