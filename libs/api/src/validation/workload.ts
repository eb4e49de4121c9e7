import {
  compileLabelSelector,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  semanticEqual,
  Verbatim,
} from '@holdfast/machinery';
import type { LabelSelector, PodTemplateSpec } from '../generated/types.ts';
import { goStringMap, goStringMapText, goStringsText, goStructText } from './go-text.ts';
import { isEmptySelector, validateLabelSelector } from './labels.ts';
import { IMMUTABLE_TEXT } from './numbers.ts';
import { validatePodTemplate } from './pod/pod-template.ts';

/** Refuses a selector that is missing or that selects every pod of the namespace. */
export function validateSelectorPresent(
  out: FieldError[],
  selector: Readonly<LabelSelector> | undefined,
  kind: string,
  path = 'spec.selector',
): void {
  if (selector === undefined) {
    out.push(required(path));
    return;
  }
  validateLabelSelector(out, path, selector);
  if (isEmptySelector(selector)) out.push(invalid(path, goLabelSelector(selector), emptySelectorText(kind)));
}

const emptySelectorText = (kind: string): string => `empty selector is invalid for ${kind}`;

interface Replicated {
  readonly selector?: Readonly<LabelSelector>;
  readonly template?: Readonly<PodTemplateSpec>;
}

/**
 * Validates the template of a kind that keeps pods running: the selector must match its pods, and they must always
 * restart.
 */
export function validateReplicaTemplate(out: FieldError[], spec: Replicated, kind: string): void {
  const path = 'spec.template';
  const { selector, template } = spec;
  if (hasProblems(selector)) {
    out.push(invalid('spec.selector', goLabelSelector(selector), 'invalid label selector'));
    return;
  }
  if (template === undefined) {
    out.push(required(path));
    return;
  }
  if (selector === undefined || !isEmptySelector(selector)) validateTemplateLabels(out, selector, template);
  validatePodTemplate(out, path, template);
  const restartPolicy = template.spec.restartPolicy ?? '';
  if (restartPolicy !== 'Always') out.push(notSupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']));
  if (template.spec.activeDeadlineSeconds !== undefined) {
    out.push(forbidden(`${path}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`));
  }
}

/** An absent selector matches nothing; an invalid one has its own error. */
export function validateTemplateLabels(
  out: FieldError[],
  selector: Readonly<LabelSelector> | undefined,
  template: Readonly<PodTemplateSpec>,
): void {
  const labels = template.metadata.labels;
  if (hasProblems(selector)) return;
  if (selector !== undefined && compileLabelSelector(selector).matches(labels ?? {})) return;
  out.push(
    invalid('spec.template.metadata.labels', goStringMap(labels), '`selector` does not match template `labels`'),
  );
}

export function hasProblems(selector: Readonly<LabelSelector> | undefined): boolean {
  const problems: FieldError[] = [];
  validateLabelSelector(problems, '', selector);
  return problems.length > 0;
}

export function validateImmutableSelector(
  out: FieldError[],
  selector: Readonly<LabelSelector> | undefined,
  old: Readonly<LabelSelector> | undefined,
  path = 'spec.selector',
): void {
  if (!semanticEqual(selector, old)) out.push(invalid(path, goLabelSelector(selector), IMMUTABLE_TEXT));
}

export function goLabelSelectorText(selector: Readonly<LabelSelector> | undefined): string {
  const requirements = (selector?.matchExpressions ?? []).map((requirement) =>
    goStructText('v1.LabelSelectorRequirement', {
      Key: JSON.stringify(requirement.key),
      Operator: JSON.stringify(requirement.operator),
      Values: goStringsText(requirement.values),
    }),
  );
  const expressions =
    selector?.matchExpressions === undefined
      ? '[]v1.LabelSelectorRequirement(nil)'
      : `[]v1.LabelSelectorRequirement{${requirements.join(', ')}}`;
  return goStructText('v1.LabelSelector', {
    MatchLabels: goStringMapText(selector?.matchLabels),
    MatchExpressions: expressions,
  });
}

export const goLabelSelector = (selector: Readonly<LabelSelector> | undefined): Verbatim =>
  new Verbatim(goLabelSelectorText(selector));
