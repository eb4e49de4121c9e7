import { ageOf } from '../../columns/age.ts';
import { ageColumn, integerColumn, NONE, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setDefault, setDefaultOfZero, setZeroTime } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { CronJob } from '../../generated/types.ts';
import { CRON_JOBS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { completionWarnings } from '../job/warnings.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';
import { cronJobChecks, validateCronJobStatusUpdate } from './validation.ts';

export const cronJobResource = defineResource(CRON_JOBS, {
  setDefaults: setCronJobDefaults,
  strategy: {
    prepareForCreate: (job, { features = DEFAULT_FEATURES }) => {
      job.status = {};
      dropDisabledPodFields(job.spec.jobTemplate.spec.template.spec, undefined, features);
    },
    prepareForUpdate: (job, old, { features = DEFAULT_FEATURES }) => {
      keepStatus(job, old);
      const { spec } = job.spec.jobTemplate.spec.template;
      dropDisabledPodFields(spec, old.spec.jobTemplate.spec.template.spec, features);
    },
    ...cronJobChecks,
    generationChanges: specChanged,
    warnings: templateWarnings<CronJob>({
      template: ({ spec }) => spec.jobTemplate.spec.template,
      path: 'spec.jobTemplate.spec.template',
      namesPods: true,
      more: ({ spec }) => completionWarnings(spec.jobTemplate.spec, 'spec.jobTemplate.spec'),
    }),
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateCronJobStatusUpdate),
  columns: [
    nameColumn,
    textColumn('Schedule', 'When jobs start, in cron form', (job) => job.spec.schedule),
    textColumn('Timezone', 'Where the schedule is meant', (job) => job.spec.timeZone ?? NONE),
    {
      name: 'Suspend',
      type: 'boolean',
      description: 'Whether no new jobs start for now',
      priority: 0,
      cell: (job) => (job.spec.suspend === true ? 'True' : 'False'),
    },
    integerColumn('Active', 'Jobs that are running', (job) => job.status.active?.length ?? 0),
    textColumn('Last Schedule', 'How long ago a job was started', (job, { now }) =>
      job.status.lastScheduleTime === undefined ? NONE : ageOf(job.status.lastScheduleTime, now),
    ),
    ageColumn,
    wide(textColumn('Containers', 'The names of the containers', (job) => templateText(job, 'name'))),
    wide(textColumn('Images', 'The images of the containers', (job) => templateText(job, 'image'))),
    wide(textColumn('Selector', 'The pods that belong to the jobs', () => NONE)),
  ],
});

const templateText = (job: Readonly<CronJob>, key: 'name' | 'image'): string =>
  job.spec.jobTemplate.spec.template.spec.containers.map((container) => container[key] ?? '').join(',');

const emptyJob = (): CronJob['spec']['jobTemplate'] => ({
  metadata: {},
  spec: { template: { metadata: {}, spec: { containers: [] } } },
});

function setCronJobDefaults(job: CronJob): void {
  setDefault(job, 'spec', { schedule: '', jobTemplate: emptyJob() });
  setDefault(job, 'status', {});
  const { spec } = job;
  setDefault(spec, 'schedule', '');
  setDefault(spec, 'jobTemplate', emptyJob());
  const template = spec.jobTemplate;
  setDefault(template, 'metadata', {});
  setZeroTime(template.metadata);
  setDefault(template, 'spec', emptyJob().spec);
  setDefault(template.spec, 'template', emptyJob().spec.template);
  setPodTemplateDefaults(template.spec.template);
  setDefaultOfZero(spec, 'concurrencyPolicy', 'Allow');
  setDefault(spec, 'suspend', false);
  setDefault(spec, 'successfulJobsHistoryLimit', 3);
  setDefault(spec, 'failedJobsHistoryLimit', 1);
}
