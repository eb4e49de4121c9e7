import { type FieldError, invalid, notSupported, tooLong } from '@holdfast/machinery';
import type { CronJob } from '../../generated/types.ts';
import { validateRequiredText, validateRequiredWord } from '../../validation/check.ts';
import { cronScheduleError } from '../../validation/cron.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateNonNegative } from '../../validation/numbers.ts';
import { isKnownTimeZone } from '../../validation/time-zone.ts';
import { goLabelSelector } from '../../validation/workload.ts';
import { checked, checkedUpdate } from '../checked.ts';
import { validateJobSpec } from '../job/validation.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;
/** Eleven characters less than a label: job names carry their start time. */
const NAME_CHARS_MAX = 52;

export const cronJobChecks = checked<CronJob>(META, (out, job, old) => {
  const { spec } = job;
  validateSchedule(out, job, old);
  validateNonNegative(out, 'spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
  if (spec.timeZone !== undefined && spec.timeZone !== old?.spec.timeZone) validateTimeZone(out, spec.timeZone);
  validateRequiredWord(out, 'spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
  validateTemplate(out, job);
  validateNonNegative(out, 'spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit);
  validateNonNegative(out, 'spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit);
  if (old === undefined) validateName(out, job.metadata.name ?? '');
});

function validateName(out: FieldError[], name: string): void {
  if (name.length > NAME_CHARS_MAX) {
    out.push(invalid('metadata.name', name, `must be no more than ${NAME_CHARS_MAX} characters`));
  }
}

function validateSchedule(out: FieldError[], { spec }: Readonly<CronJob>, old: Readonly<CronJob> | undefined): void {
  const path = 'spec.schedule';
  if (!validateRequiredText(out, path, spec.schedule)) return;
  // Checked before the schedule is parsed, here and in the controller on each pass.
  if (spec.schedule.length > SCHEDULE_CHARS_MAX) {
    out.push(tooLong(path, SCHEDULE_CHARS_MAX));
    return;
  }
  const error = cronScheduleError(spec.schedule);
  if (error !== undefined) out.push(invalid(path, spec.schedule, error));
  if (!spec.schedule.includes('TZ')) return;
  if (!old?.spec.schedule.includes('TZ')) {
    out.push(invalid(path, spec.schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'));
  } else if (spec.timeZone !== undefined) {
    out.push(invalid(path, spec.schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'));
  }
}

/** Kubernetes has no such limit. A field that lists all its values has 200 characters. */
const SCHEDULE_CHARS_MAX = 4_096;

/** A part of a time zone name; old names contain digits and signs. */
const ZONE_PART = /^(?!-|\.{1,2}$)[A-Za-z.\-_0-9+]{1,14}$/;

function validateTimeZone(out: FieldError[], zone: string): void {
  const path = 'spec.timeZone';
  const unknown = `unknown time zone ${zone}`;
  if (zone === '') out.push(invalid(path, zone, 'timeZone must be nil or non-empty string'));
  else if (!zone.split('/').every((part) => ZONE_PART.test(part))) out.push(invalid(path, zone, unknown));
  else {
    if (zone.toLowerCase() === 'local') {
      const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
      out.push(invalid(path, zone, detail));
    }
    if (zone !== 'Local' && !isKnownTimeZone(zone)) out.push(invalid(path, zone, unknown));
  }
}

function validateTemplate(out: FieldError[], { spec }: Readonly<CronJob>): void {
  const path = 'spec.jobTemplate.spec';
  const job = spec.jobTemplate.spec;
  validateJobSpec(out, path, job);
  if (job.selector !== undefined) {
    out.push(invalid(`${path}.selector`, goLabelSelector(job.selector), '`selector` will be auto-generated'));
  }
  if (job.manualSelector === true) out.push(notSupported(`${path}.manualSelector`, true, ['nil', 'false']));
}

export const validateCronJobStatusUpdate = checkedUpdate<CronJob>(() => {});
