import { setOwn } from '@holdfast/machinery';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { Job } from '../../generated/types.ts';
import type { Strategy, SubresourceStrategy } from '../../resource.ts';
import { JOB_NAME_LABEL, JOB_UID_LABEL } from '../../semantics/well-known.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { keepSpec, keepStatus } from '../strategy.ts';
import { LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME } from './labels.ts';
import { validateJobStatusUpdate } from './status-validation.ts';

export const prepareJobCreate: Strategy<Job>['prepareForCreate'] = (job, { features = DEFAULT_FEATURES }) => {
  if (job.spec.manualSelector !== true) generateSelector(job);
  job.status = {};
  dropDisabledPodFields(job.spec.template.spec, undefined, features);
};

/** No other pods carry this job's uid, so users need not choose a selector. */
function generateSelector(job: Job): void {
  const name = job.metadata.name ?? '';
  const uid = job.metadata.uid ?? '';
  const own = { [LEGACY_JOB_NAME]: name, [LEGACY_CONTROLLER_UID]: uid, [JOB_NAME_LABEL]: name, [JOB_UID_LABEL]: uid };
  const { metadata } = job.spec.template;
  const labels = metadata.labels ?? {};
  for (const [key, value] of Object.entries(own)) if (!Object.hasOwn(labels, key)) setOwn(labels, key, value);
  metadata.labels = labels;
  if (Object.keys(job.metadata.labels ?? {}).length === 0) job.metadata.labels = { ...labels };
  const selector = (job.spec.selector ??= {});
  const matchLabels = (selector.matchLabels ??= {});
  matchLabels[JOB_UID_LABEL] ??= uid;
}

export const prepareJobUpdate: Strategy<Job>['prepareForUpdate'] = (job, old, { features = DEFAULT_FEATURES }) => {
  keepStatus(job, old);
  dropDisabledPodFields(job.spec.template.spec, old.spec.template.spec, features);
};

export const jobStatusStrategy: SubresourceStrategy<Job> = {
  prepareForUpdate: keepSpec,
  validateUpdate: validateJobStatusUpdate,
};
