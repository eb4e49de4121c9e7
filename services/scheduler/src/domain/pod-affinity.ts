import { compileOrNothing, type Pod, type PodAffinityTerm, selectorOf } from '@holdfast/api';
import {
  compileLabelSelector,
  compileRequirements,
  createRequirement,
  type LabelSelectorMatcher,
  NOTHING,
  ownValue,
  type Requirement,
} from '@holdfast/machinery';

/** Labels of a namespace; absent for an unknown namespace. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

export interface AffinityTerm {
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelSelectorMatcher;
  readonly selector: LabelSelectorMatcher;
  /** Equal texts select equal pods; the topology key is not included. */
  readonly text: string;
}

export interface WeightedTerm extends AffinityTerm {
  readonly weight: number;
}

export interface PodAffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
  readonly preferredAnti: readonly WeightedTerm[];
}

interface Selectable {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

const NO_TERMS: PodAffinityTerms = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] };

export function compilePodAffinity(pod: Pod): PodAffinityTerms {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined) return NO_TERMS;
  const compile = (term: PodAffinityTerm): AffinityTerm => compileTerm(pod, term);
  const weighted = (preferred: { podAffinityTerm: PodAffinityTerm; weight: number }): WeightedTerm => ({
    ...compile(preferred.podAffinityTerm),
    weight: preferred.weight,
  });
  return {
    required: (podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(compile),
    requiredAnti: (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(compile),
    preferred: (podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(weighted),
    preferredAnti: (podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(weighted),
  };
}

export function selectsPod(term: AffinityTerm, pod: Selectable, labelsOf: NamespaceLabels): boolean {
  return selectsNamespace(term, pod.namespace, labelsOf) && term.selector.matches(pod.labels);
}

function selectsNamespace(term: AffinityTerm, namespace: string, labelsOf: NamespaceLabels): boolean {
  if (term.namespaces.has(namespace)) return true;
  return term.namespaceSelector.empty || term.namespaceSelector.matches(labelsOf(namespace));
}

/** Without namespaces and namespace selector a term concerns the pod's own namespace. */
function compileTerm(pod: Pod, term: PodAffinityTerm): AffinityTerm {
  const own = (term.namespaces ?? []).length === 0 && term.namespaceSelector === undefined;
  const namespaces = own ? [pod.metadata.namespace ?? ''] : (term.namespaces ?? []);
  const namespaceSelector = selectorOf(term.namespaceSelector);
  const selector = compileOrNothing(() => withLabelKeys(compileLabelSelector(term.labelSelector), pod, term));
  return {
    topologyKey: term.topologyKey,
    namespaces: new Set(namespaces),
    namespaceSelector,
    selector,
    text: JSON.stringify([namespaces.toSorted(), textOf(namespaceSelector), textOf(selector)]),
  };
}

/** Distinguishes the selector of nothing from the selector of everything: both have no requirements. */
function textOf({ requirements, empty, text }: LabelSelectorMatcher): string {
  return requirements.length === 0 ? String(empty) : text;
}

/** Adds the pod's own values of the labels in `matchLabelKeys` and `mismatchLabelKeys`. */
function withLabelKeys(selector: LabelSelectorMatcher, pod: Pod, term: PodAffinityTerm): LabelSelectorMatcher {
  if (selector === NOTHING) return selector;
  const added = [...ownValues(pod, term.matchLabelKeys, 'in'), ...ownValues(pod, term.mismatchLabelKeys, 'notin')];
  return added.length === 0 ? selector : compileRequirements([...selector.requirements, ...added]);
}

export function ownValues(pod: Pod, keys: readonly string[] | undefined, operator: 'in' | 'notin'): Requirement[] {
  return (keys ?? []).flatMap((key) => {
    const value = ownValue(pod.metadata.labels, key);
    return value === undefined ? [] : [createRequirement(key, operator, [value])];
  });
}
