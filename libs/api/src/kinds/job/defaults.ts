import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import type { Job, JobSpec } from '../../generated/types.ts';

/** Practically unlimited: failed indexes are counted one by one instead. */
const BACKOFF_LIMIT_UNLIMITED = 2_147_483_647;

export function setJobDefaults(job: Job): void {
  setDefault(job, 'spec', { template: { metadata: {}, spec: { containers: [] } } });
  setDefault(job, 'status', {});
  setConditionTimes(job.status.conditions, 'lastProbeTime', 'lastTransitionTime');
  const { spec, metadata } = job;
  setDefault(spec, 'template', { metadata: {}, spec: { containers: [] } });
  setPodTemplateDefaults(spec.template);
  setCountDefaults(spec);
  const labels = spec.template.metadata.labels;
  // Shares one map: generated template labels of a new job also appear on the job.
  if (labels !== undefined && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = labels;
  setDefault(spec, 'completionMode', 'NonIndexed');
  setDefault(spec, 'suspend', false);
  setDefault(spec, 'manualSelector', false);
  setDefault(spec, 'podReplacementPolicy', spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed');
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) setDefault(pattern, 'status', 'True');
  }
}

function setCountDefaults(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  setDefault(spec, 'parallelism', 1);
  setDefault(spec, 'backoffLimit', spec.backoffLimitPerIndex === undefined ? 6 : BACKOFF_LIMIT_UNLIMITED);
}
