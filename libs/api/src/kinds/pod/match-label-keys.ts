import { ownValue } from '@holdfast/machinery';
import type { Pod, PodAffinityTerm } from '../../generated/types.ts';

const TERMS = 'requiredDuringSchedulingIgnoredDuringExecution';
const WEIGHTED = 'preferredDuringSchedulingIgnoredDuringExecution';

/** On create, copies the values of the pod's own labels into the selectors of terms with `matchLabelKeys`. */
export function addMatchLabelKeys(pod: Pod): void {
  const labels = pod.metadata.labels ?? {};
  for (const key of ['podAffinity', 'podAntiAffinity'] as const) {
    const affinity = pod.spec.affinity?.[key];
    for (const term of affinity?.[TERMS] ?? []) addToSelector(term, labels);
    for (const weighted of affinity?.[WEIGHTED] ?? []) addToSelector(weighted.podAffinityTerm, labels);
  }
}

function addToSelector(term: PodAffinityTerm | undefined, labels: Readonly<Record<string, string>>): void {
  if (term?.labelSelector === undefined) return;
  const add = (key: string, operator: 'In' | 'NotIn'): void => {
    const value = ownValue(labels, key);
    if (value === undefined || term.labelSelector === undefined) return;
    (term.labelSelector.matchExpressions ??= []).push({ key, operator, values: [value] });
  };
  for (const key of term.matchLabelKeys ?? []) add(key, 'In');
  for (const key of term.mismatchLabelKeys ?? []) add(key, 'NotIn');
}
