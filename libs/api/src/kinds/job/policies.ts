import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  OMITTED,
  required,
  tooLong,
  tooMany,
} from '@holdfast/machinery';
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../generated/types.ts';
import { repeats, validateDnsSubdomain, validateQualifiedName } from '../../validation/check.ts';
import { goValue } from '../../validation/go/print.ts';
import { validateNonNegative } from '../../validation/numbers.ts';
import { countIndexes } from './indexes.ts';

const MANAGED_BY_CHARS_MAX = 63;

/** `example.com/controller` */
export function validateDomainPath(out: FieldError[], path: string, name: string): void {
  if (name === '') {
    out.push(required(path));
    return;
  }
  const slash = name.indexOf('/');
  const [host, rest] = [name.slice(0, Math.max(slash, 0)), name.slice(slash + 1)];
  if (slash < 0 || host === '' || rest === '') {
    out.push(invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")'));
    return;
  }
  validateDnsSubdomain(out, path, host);
  if (/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)) return;
  const pattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
  out.push(invalid(path, rest, `Invalid path (regex used for validation is '${pattern}')`));
}

export function validateManagedBy(out: FieldError[], path: string, name: string): void {
  validateDomainPath(out, path, name);
  if (name.length > MANAGED_BY_CHARS_MAX) out.push(tooLong(path, MANAGED_BY_CHARS_MAX));
}

const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const PATTERNS_MAX = 20;
const INDEXES_BYTES_MAX = 64 * 1024;
const validValues = (words: readonly string[]): string =>
  `valid values: [${words.map((word) => JSON.stringify(word)).join(' ')}]`;

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

export function validatePodFailurePolicy(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > RULES_MAX) out.push(tooMany(`${path}.rules`, rules.length, RULES_MAX));
  const names = new Set(
    [...spec.template.spec.containers, ...(spec.template.spec.initContainers ?? [])].map((container) => container.name),
  );
  for (const [i, rule] of rules.entries()) validateFailureRule(out, `${path}.rules[${i}]`, { rule, spec, names });
}

interface FailureRule {
  readonly rule: Readonly<PodFailurePolicyRule>;
  readonly spec: Readonly<JobSpec>;
  readonly names: ReadonlySet<string>;
}

function validateFailureRule(out: FieldError[], path: string, { rule, spec, names }: FailureRule): void {
  const action = rule.action ?? '';
  if (action === '') out.push(required(`${path}.action`, validValues(ACTIONS)));
  else if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) {
    out.push(invalid(`${path}.action`, action, 'requires the backoffLimitPerIndex to be set'));
  } else if (!ACTIONS.includes(action)) out.push(notSupported(`${path}.action`, action, ACTIONS));
  if (rule.onExitCodes !== undefined) validateExitCodes(out, `${path}.onExitCodes`, rule.onExitCodes, names);
  const patterns = rule.onPodConditions ?? [];
  validatePatterns(out, `${path}.onPodConditions`, rule);
  if (rule.onExitCodes !== undefined && patterns.length > 0) {
    out.push(invalid(path, OMITTED, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  }
  if (rule.onExitCodes === undefined && patterns.length === 0) {
    out.push(invalid(path, OMITTED, 'specifying one of OnExitCodes and OnPodConditions is required'));
  }
}

function validatePatterns(
  out: FieldError[],
  path: string,
  { onPodConditions = [] }: Readonly<PodFailurePolicyRule>,
): void {
  if (onPodConditions.length > PATTERNS_MAX) out.push(tooMany(path, onPodConditions.length, PATTERNS_MAX));
  for (const [i, { type, status }] of onPodConditions.entries()) {
    validateQualifiedName(out, `${path}[${i}].type`, type ?? '');
    const words = ['False', 'True', 'Unknown'];
    if (!status) {
      out.push(required(`${path}[${i}].status`, validValues(words)));
    } else if (!words.includes(status)) out.push(notSupported(`${path}[${i}].status`, status, words));
  }
}

function validateExitCodes(
  out: FieldError[],
  path: string,
  codes: Readonly<PodFailurePolicyOnExitCodesRequirement>,
  names: ReadonlySet<string>,
): void {
  const operator = codes.operator ?? '';
  const values = codes.values ?? [];
  if (operator === '') out.push(required(`${path}.operator`, validValues(['In', 'NotIn'])));
  else if (operator !== 'In' && operator !== 'NotIn')
    out.push(notSupported(`${path}.operator`, operator, ['In', 'NotIn']));
  if (codes.containerName !== undefined && !names.has(codes.containerName)) {
    const detail = 'must be one of the container or initContainer names in the pod template';
    out.push(invalid(`${path}.containerName`, codes.containerName, detail));
  }
  const at = `${path}.values`;
  if (values.length === 0) out.push(invalid(at, goValue('[]int32', codes.values), 'at least one value is required'));
  else if (values.length > EXIT_CODES_MAX) out.push(tooMany(at, values.length, EXIT_CODES_MAX));
  const isRepeated = repeats<number>();
  for (const [i, value] of values.entries()) {
    if (operator === 'In' && value === 0) out.push(invalid(`${at}[${i}]`, value, 'must not be 0 for the In operator'));
    if (isRepeated(value)) out.push(duplicate(`${at}[${i}]`, value));
  }
  if (values.some((value, i) => (values[i - 1] ?? value) > value)) {
    out.push(invalid(at, goValue('[]int32', values), 'must be ordered'));
  }
}

export function validateSuccessPolicy(out: FieldError[], path: string, spec: Readonly<JobSpec>): void {
  if (spec.completionMode !== 'Indexed') {
    out.push(invalid(path, goValue('batch.SuccessPolicy', spec.successPolicy), 'requires indexed completion mode'));
    return;
  }
  const rules = spec.successPolicy?.rules ?? [];
  if (rules.length === 0)
    out.push(required(`${path}.rules`, 'at least one rules must be specified when the successPolicy is specified'));
  if (rules.length > RULES_MAX) out.push(tooMany(`${path}.rules`, rules.length, RULES_MAX));
  for (const [i, rule] of rules.entries()) validateSuccessRule(out, `${path}.rules[${i}]`, rule, spec.completions ?? 0);
}

function validateSuccessRule(
  out: FieldError[],
  path: string,
  { succeededCount: count, succeededIndexes: indexes }: Readonly<SuccessPolicyRule>,
  completions: number,
): void {
  if (count === undefined && indexes === undefined) {
    out.push(required(path, 'at least one of succeededCount or succeededIndexes must be specified'));
  }
  let total = 0;
  if (indexes !== undefined) {
    if (indexes.length > INDEXES_BYTES_MAX) out.push(tooLong(`${path}.succeededIndexes`, INDEXES_BYTES_MAX));
    const parsed = countIndexes(indexes, completions);
    if (typeof parsed === 'number') total = parsed;
    else out.push(invalid(`${path}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${parsed}`));
  }
  if (count === undefined) return;
  const at = `${path}.succeededCount`;
  validateNonNegative(out, at, count);
  if (count > completions) {
    out.push(invalid(at, count, `must be less than or equal to ${completions} (the number of specified completions)`));
  }
  if (indexes !== undefined && count > total) {
    const detail = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
    out.push(invalid(at, count, detail));
  }
}
