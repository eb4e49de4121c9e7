import { parseTime } from '@holdfast/platform';
import { humanDuration } from '../../columns/age.ts';
import { ageColumn, nameColumn, selectorColumn, templateColumns, textColumn } from '../../columns/columns.ts';
import type { Job } from '../../generated/types.ts';
import { JOBS } from '../../refs.ts';
import { isTerminating } from '../../semantics/pods.ts';
import { defineResource } from '../define.ts';
import { specChanged } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';
import { setJobDefaults } from './defaults.ts';
import { jobStatusStrategy, prepareJobCreate, prepareJobUpdate } from './prepare.ts';
import { jobChecks } from './validation.ts';
import { completionWarnings } from './warnings.ts';

export const jobResource = defineResource(JOBS, {
  setDefaults: setJobDefaults,
  strategy: {
    prepareForCreate: prepareJobCreate,
    prepareForUpdate: prepareJobUpdate,
    ...jobChecks,
    generationChanges: specChanged,
    warnings: templateWarnings<Job>({
      template: ({ spec }) => spec.template,
      namesPods: true,
      more: ({ spec }) => completionWarnings(spec, 'spec'),
    }),
    allowUnconditionalUpdate: true,
    orphansByDefault: {
      warning:
        'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
    },
  },
  status: jobStatusStrategy,
  columns: [
    nameColumn,
    textColumn('Status', 'Where the job stands', statusText),
    textColumn('Completions', 'Pods that completed, of those that must', completionsText),
    textColumn('Duration', 'How long the job took, or has been running', durationText),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  selectableFields: { 'status.successful': (job) => String(job.status.succeeded ?? 0) },
});

function statusText({ metadata, status }: Readonly<Job>): string {
  const isTrue = (type: string): boolean =>
    status.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
  if (isTrue('Complete')) return 'Complete';
  if (isTrue('Failed')) return 'Failed';
  if (isTerminating({ metadata })) return 'Terminating';
  if (isTrue('Suspended')) return 'Suspended';
  if (isTrue('FailureTarget')) return 'FailureTarget';
  return isTrue('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function completionsText({ spec, status }: Readonly<Job>): string {
  const succeeded = status.succeeded ?? 0;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText({ status }: Readonly<Job>, { now }: { readonly now: number }): string {
  const start = parseTime(status.startTime ?? '');
  if (start === undefined) return '';
  return humanDuration((parseTime(status.completionTime ?? '') ?? now) - start);
}
