import { type FieldError, forbidden, invalid, required } from '@holdfast/machinery';
import type { LabelSelector, LabelSelectorRequirement } from '../generated/types.ts';
import { labelValueErrors, qualifiedNameErrors } from './formats.ts';

export function validateLabels(
  out: FieldError[],
  path: string,
  labels: Readonly<Record<string, string>> | undefined,
): void {
  if (labels === undefined) return;
  const keys = Object.keys(labels);
  for (const key of keys.length > 1 ? keys.sort() : keys) {
    validateLabelName(out, path, key);
    for (const text of labelValueErrors(labels[key] ?? '')) out.push(invalid(path, labels[key], text));
  }
}

export function validateLabelName(out: FieldError[], path: string, name: string): void {
  for (const text of qualifiedNameErrors(name)) out.push(invalid(path, name, text));
}

export function validateLabelSelector(
  out: FieldError[],
  path: string,
  selector: Readonly<LabelSelector> | undefined,
): void {
  if (selector === undefined) return;
  validateLabels(out, `${path}.matchLabels`, selector.matchLabels);
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries()) {
    validateRequirement(out, `${path}.matchExpressions[${i}]`, requirement);
  }
}

export function validateRequirement(
  out: FieldError[],
  path: string,
  requirement: LabelSelectorRequirement,
  anyOperator = false,
): void {
  if (!validateOperator(out, path, requirement) && !anyOperator) refuseOperator(out, path, requirement.operator);
  validateLabelName(out, `${path}.key`, requirement.key ?? '');
  for (const [i, value] of (requirement.values ?? []).entries()) {
    for (const text of labelValueErrors(value)) out.push(invalid(`${path}.values[${i}]`, value, text));
  }
}

/** Validates the operators that all selectors share. Returns false for any other operator. */
export function validateOperator(
  out: FieldError[],
  path: string,
  { operator, values = [] }: Readonly<{ operator?: string; values?: readonly string[] }>,
): boolean {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return true;
    out.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    return true;
  }
  if (operator !== 'Exists' && operator !== 'DoesNotExist') return false;
  if (values.length > 0) {
    out.push(forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  }
  return true;
}

export function refuseOperator(out: FieldError[], path: string, operator: string | undefined): void {
  out.push(invalid(`${path}.operator`, operator ?? '', 'not a valid selector operator'));
}

export const isEmptySelector = (selector: Readonly<LabelSelector> | undefined): boolean =>
  selector === undefined ||
  (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0);
