import {
  compileLabelSelector,
  type FieldError,
  invalid,
  notSupported,
  ownValue,
  required,
  semanticEqual,
} from '@holdfast/machinery';
import type { Job, JobSpec, PodTemplateSpec } from '../../generated/types.ts';
import { JOB_NAME_LABEL, JOB_UID_LABEL } from '../../semantics/well-known.ts';
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
import { checkedInSteps } from '../checked.ts';
import { LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME } from './labels.ts';
import { validateManagedBy, validatePodFailurePolicy, validateSuccessPolicy } from './policies.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

/** An update is checked first as a new job, then as a change. */
export const jobChecks = checkedInSteps<Job>(META, {
  whole: (out, job) => {
    validateGenerated(out, job);
    validateOwnSpec(out, job);
    validateIndexNames(out, job);
  },
  change: (out, job, old) => {
    validateOwnSpec(out, job);
    validateChange(out, job, old);
  },
  onUpdate: ['whole', 'metadata', 'change'],
});

function validateOwnSpec(out: FieldError[], job: Readonly<Job>): void {
  validateJobSpec(out, 'spec', job.spec);
  validateSelector(out, job);
}

/** A client may not set generated labels to other values. */
function validateGenerated(out: FieldError[], { metadata, spec }: Readonly<Job>): void {
  if (spec.manualSelector === true || spec.selector === undefined) return;
  const [uid, name] = [metadata.uid ?? '', metadata.name ?? ''];
  const expected = {
    [LEGACY_CONTROLLER_UID]: uid,
    [LEGACY_JOB_NAME]: name,
    [JOB_UID_LABEL]: uid,
    [JOB_NAME_LABEL]: name,
  };
  const labels = spec.template.metadata.labels;
  for (const [key, value] of Object.entries(expected)) {
    const path = `spec.template.metadata.labels[${key}]`;
    const found = ownValue(labels, key);
    if (labels === undefined || found === undefined) out.push(required(path, `must be '${value}'`));
    else if (found !== value) out.push(invalid(path, goStringMap(labels), `must be '${value}'`));
  }
  if (hasProblems(spec.selector) || compileLabelSelector(spec.selector).matches(expected)) return;
  out.push(invalid('spec.selector', goLabelSelector(spec.selector), '`selector` not auto-generated'));
}

export function validateJobSpec(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  for (const key of COUNTS) validateNonNegative(out, `${path}.${key}`, spec[key]);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    out.push(required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  }
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
const NON_INDEXED = 'NonIndexed';
const COMPLETIONS_HIGH = 100_000;
const HIGH_COMPLETIONS_LIMIT = 10_000;
const NEEDS_INDEXED = 'requires indexed completion mode';

function validateCompletionMode(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const mode = spec.completionMode ?? NON_INDEXED;
  if (mode === INDEXED) validateIndexed(out, path, spec);
  else if (mode !== NON_INDEXED) out.push(notSupported(`${path}.completionMode`, mode, [NON_INDEXED, INDEXED]));
  else {
    for (const key of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
      if (spec[key] !== undefined) out.push(invalid(`${path}.${key}`, spec[key], NEEDS_INDEXED));
    }
  }
}

function validateIndexed(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const { completions, parallelism = 0, maxFailedIndexes = 0 } = spec;
  if (completions === undefined) out.push(required(`${path}.completions`, `when completion mode is ${INDEXED}`));
  if (parallelism > INDEXED_JOB_PARALLELISM_MAX) {
    const detail = `${atMost(INDEXED_JOB_PARALLELISM_MAX)} when completion mode is ${INDEXED}`;
    out.push(invalid(`${path}.parallelism`, parallelism, detail));
  }
  if (completions !== undefined && spec.maxFailedIndexes !== undefined && maxFailedIndexes > completions) {
    out.push(invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, 'must be less than or equal to completions'));
  }
  if (maxFailedIndexes > INDEXED_JOB_FAILED_INDEXES_MAX) {
    out.push(invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, atMost(INDEXED_JOB_FAILED_INDEXES_MAX)));
  }
  if ((completions ?? 0) > COMPLETIONS_HIGH && spec.backoffLimitPerIndex !== undefined) {
    validateHighCompletions(out, path, spec);
  }
}

const atMost = (limit: number): string => `must be less than or equal to ${limit}`;

/** The status must have room for the failed indexes. */
function validateHighCompletions(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  if (spec.maxFailedIndexes === undefined) {
    const detail = `must be specified when completions is above ${COMPLETIONS_HIGH}`;
    out.push(required(`${path}.maxFailedIndexes`, detail));
  }
  const suffix = `when completions are above ${COMPLETIONS_HIGH} and used with backoff limit per index`;
  for (const key of ['parallelism', 'maxFailedIndexes'] as const) {
    if ((spec[key] ?? 0) <= HIGH_COMPLETIONS_LIMIT) continue;
    out.push(invalid(`${path}.${key}`, spec[key], `${atMost(HIGH_COMPLETIONS_LIMIT)} ${suffix}`));
  }
}

function validateReplacementPolicy(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const policy = spec.podReplacementPolicy;
  if (policy === undefined) return;
  const supported = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  if (!supported.includes(policy)) out.push(notSupported(path, policy, supported));
}

/** Always is the template's default; in a job it counts as unset. */
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

/** The hostname of an indexed job's pod contains its index. */
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
  // Scheduling constraints may change until the first pod starts.
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
