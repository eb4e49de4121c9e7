import {
  compileLabelSelector,
  type FieldError,
  invalid,
  notSupported,
  required,
  semanticEqual,
} from '@holdfast/machinery';
import type { Job, JobSpec, PodTemplateSpec } from '../../generated/types.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { goStringMap } from '../../validation/go-text.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { INDEXED_JOB_FAILED_INDEXES_MAX, INDEXED_JOB_PARALLELISM_MAX } from '../../validation/limits.ts';
import { IMMUTABLE_TEXT, validateNonNegative } from '../../validation/numbers.ts';
import { validatePodTemplate } from '../../validation/pod/pod-template.ts';
import {
  goLabelSelector,
  hasProblems,
  validateImmutableSelector,
  validateTemplateLabels,
} from '../../validation/workload.ts';
import { checked, checkedUpdate } from '../checked.ts';
import { validateManagedBy, validatePodFailurePolicy, validateSuccessPolicy } from './policies.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const jobChecks = checked<Job>(META, (out, job, old) => {
  if (old === undefined) validateGenerated(out, job);
  validateJobSpec(out, 'spec', job.spec);
  validateSelector(out, job);
  if (old === undefined) validateIndexNames(out, job);
  else validateChange(out, job, old);
});

/** What the server generates must not have been given differently. */
function validateGenerated(out: FieldError[], { metadata, spec }: Readonly<Job>): void {
  if (spec.manualSelector === true || spec.selector === undefined) return;
  const uid = metadata.uid ?? '';
  const expected = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': metadata.name ?? '' };
  const labels = spec.template.metadata.labels;
  for (const [key, value] of Object.entries(expected)) {
    const path = `spec.template.metadata.labels[${key}]`;
    if (labels?.[key] === undefined) out.push(required(path, `must be '${value}'`));
    else if (labels[key] !== value) out.push(invalid(path, goStringMap(labels), `must be '${value}'`));
  }
  if (hasProblems(spec.selector) || compileLabelSelector(spec.selector).matches({ ...labels, ...expected })) return;
  out.push(invalid('spec.selector', goLabelSelector(spec.selector), '`selector` not auto-generated'));
}

export function validateJobSpec(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  for (const key of COUNTS) validateNonNegative(out, `${path}.${key}`, spec[key]);
  if (spec.managedBy !== undefined) validateManagedBy(out, `${path}.managedBy`, spec.managedBy);
  validateCompletionMode(out, path, spec);
  if (spec.podFailurePolicy !== undefined) {
    validatePodFailurePolicy(out, `${path}.podFailurePolicy`, spec);
  }
  if (spec.successPolicy !== undefined) validateSuccessPolicy(out, `${path}.successPolicy`, spec);
  validateReplacementPolicy(out, `${path}.podReplacementPolicy`, spec);
  validatePodTemplate(out, `${path}.template`, spec.template);
  validateRestartPolicy(out, `${path}.template.spec.restartPolicy`, spec);
}

const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

const INDEXED = 'Indexed';
const NEEDS_INDEXED = 'requires indexed completion mode';

function validateCompletionMode(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const { completionMode, completions, parallelism, backoffLimitPerIndex, maxFailedIndexes } = spec;
  if (completionMode !== undefined && completionMode !== INDEXED && completionMode !== 'NonIndexed') {
    out.push(notSupported(`${path}.completionMode`, completionMode, ['NonIndexed', INDEXED]));
  }
  if (completionMode === INDEXED) {
    if (completions === undefined) out.push(required(`${path}.completions`, `when completion mode is ${INDEXED}`));
    validateIndexedLimit(out, `${path}.parallelism`, parallelism, INDEXED_JOB_PARALLELISM_MAX);
    validateIndexedLimit(out, `${path}.maxFailedIndexes`, maxFailedIndexes, INDEXED_JOB_FAILED_INDEXES_MAX);
    if (maxFailedIndexes !== undefined && completions !== undefined && maxFailedIndexes > completions) {
      out.push(invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, 'must be less than or equal to completions'));
    }
  } else if (backoffLimitPerIndex !== undefined) {
    out.push(invalid(`${path}.backoffLimitPerIndex`, backoffLimitPerIndex, NEEDS_INDEXED));
  }
  if (maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined) {
    out.push(required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  }
}

function validateIndexedLimit(out: FieldError[], path: string, value: number | undefined, max: number): void {
  if (value === undefined || value <= max) return;
  out.push(invalid(path, value, `must be less than or equal to ${max} when completion mode is ${INDEXED}`));
}

function validateReplacementPolicy(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const policy = spec.podReplacementPolicy;
  if (policy === undefined) return;
  const supported = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  if (!supported.includes(policy)) out.push(notSupported(path, policy, supported));
}

/** Always is what a template gets that says nothing: to a job that means nothing was said. */
function validateRestartPolicy(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const policy = spec.template.spec.restartPolicy ?? '';
  if (policy === 'Always' || policy === '') out.push(required(path, 'valid values: "OnFailure", "Never"'));
  else if (policy !== 'OnFailure' && policy !== 'Never') out.push(notSupported(path, policy, ['OnFailure', 'Never']));
  else if (spec.podFailurePolicy !== undefined && policy !== 'Never') {
    out.push(invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified'));
  }
}

function validateSelector(out: FieldError[], { spec }: Readonly<Job>): void {
  if (spec.selector === undefined) out.push(required('spec.selector'));
  validateLabelSelector(out, 'spec.selector', spec.selector);
  validateTemplateLabels(out, spec.selector, spec.template);
}

/** Every pod of an indexed job has its index in its hostname. */
function validateIndexNames(out: FieldError[], { metadata, spec }: Readonly<Job>): void {
  if (spec.completionMode !== INDEXED || spec.completions === undefined || spec.completions <= 0) return;
  const longest = `${metadata.name ?? ''}-${spec.completions - 1}`;
  const errors = dnsLabelErrors(longest);
  if (errors.length === 0) return;
  const detail = `will not able to create pod with invalid DNS label: ${longest}`;
  out.push(invalid('metadata.name', metadata.name ?? '', detail));
}

function validateChange(out: FieldError[], { spec }: Readonly<Job>, { spec: old, status }: Readonly<Job>): void {
  validateCompletions(out, spec, old);
  validateImmutableSelector(out, spec.selector, old.selector);
  // What decides where pods go may change until the first one went.
  const mayMove = old.suspend === true && status.startTime === undefined;
  const template = mayMove ? withOldDirectives(spec.template, old.template) : spec.template;
  if (!semanticEqual(template, old.template)) {
    out.push(invalid('spec.template', goValue('core.PodTemplateSpec', spec.template), IMMUTABLE_TEXT));
  }
  for (const key of IMMUTABLE_FIELDS) {
    if (!semanticEqual(spec[key], old[key])) out.push(invalid(`spec.${key}`, shownField(spec, key), IMMUTABLE_TEXT));
  }
}

const IMMUTABLE_FIELDS = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const;

function shownField(spec: Readonly<JobSpec>, key: (typeof IMMUTABLE_FIELDS)[number]): unknown {
  const value = spec[key];
  if (value === undefined) return undefined;
  if (key === 'podFailurePolicy') return goValue('batch.PodFailurePolicy', value);
  return key === 'successPolicy' ? goValue('batch.SuccessPolicy', value) : value;
}

function validateCompletions(out: FieldError[], spec: Readonly<JobSpec>, old: Readonly<JobSpec>): void {
  if (spec.completions === old.completions) return;
  if (spec.completionMode !== INDEXED) out.push(invalid('spec.completions', spec.completions, IMMUTABLE_TEXT));
  else if (spec.completions !== undefined && spec.completions !== spec.parallelism) {
    out.push(invalid('spec.completions', spec.completions, 'can only be modified in tandem with spec.parallelism'));
  }
}

function withOldDirectives(template: Readonly<PodTemplateSpec>, old: Readonly<PodTemplateSpec>): object {
  const strip = ({ metadata, spec }: Readonly<PodTemplateSpec>): object => {
    const { labels: _labels, annotations: _annotations, ...restMeta } = metadata;
    const { nodeSelector: _selector, affinity, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
    const { nodeAffinity: _nodeAffinity, ...restAffinity } = affinity ?? {};
    return { metadata: restMeta, spec: { ...rest, affinity: restAffinity } };
  };
  return semanticEqual(strip(template), strip(old)) ? old : template;
}

export const validateJobStatusUpdate = checkedUpdate<Job>((out, { status }, old) => {
  for (const key of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const) {
    validateNonNegative(out, `status.${key}`, status[key]);
  }
  if (old.status.startTime !== undefined && status.completionTime !== undefined && status.startTime === undefined) {
    out.push(required('status.startTime', 'startTime cannot be removed for unsuspended job'));
  }
});
