import type { LabelSelector, LabelSelectorRequirement } from '@holdfast/api';

type Labels = Readonly<Record<string, string>>;
export type LabelPredicate = (labels: Labels | undefined) => boolean;

/** An absent selector matches nothing, an empty one everything. */
export function labelPredicate(selector: LabelSelector | undefined): LabelPredicate {
  if (selector === undefined) return () => false;
  const exact = Object.entries(selector.matchLabels ?? {});
  const requirements = selector.matchExpressions ?? [];
  return (labels = {}) =>
    exact.every(([key, value]) => labels[key] === value) &&
    requirements.every((requirement) => meets(labels, requirement));
}

/** Workload controllers refuse to work with a selector that would claim every pod. */
export const selectsEverything = (selector: LabelSelector | undefined): boolean =>
  selector !== undefined &&
  Object.keys(selector.matchLabels ?? {}).length === 0 &&
  (selector.matchExpressions ?? []).length === 0;

function meets(labels: Labels, requirement: LabelSelectorRequirement): boolean {
  const value = labels[requirement.key];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && (requirement.values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(requirement.values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}
