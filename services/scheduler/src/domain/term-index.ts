import type { AffinityTerm, PodAffinityTerms, WeightedTerm } from './pod-affinity.ts';
import type { PodInfo } from './pod-info.ts';

export type TermKind = keyof PodAffinityTerms;

/** One wish about other pods that placed pods have in common. */
export interface PlacedTerms {
  readonly term: AffinityTerm;
  /** 1 for what is required. */
  readonly weight: number;
  /** How many pods of each node have it. */
  readonly byNode: ReadonlyMap<string, number>;
}

interface Entry extends PlacedTerms {
  readonly byNode: Map<string, number>;
}

const KINDS: readonly TermKind[] = ['required', 'requiredAnti', 'preferred', 'preferredAnti'];

/**
 * Affinity terms of placed pods, each distinct one once: replicas share theirs, so a decision costs what the distinct
 * wishes cost and not what the pods that have them cost.
 */
export class TermIndex {
  readonly #byKind: Readonly<Record<TermKind, Map<string, Entry>>> = {
    required: new Map(),
    requiredAnti: new Map(),
    preferred: new Map(),
    preferredAnti: new Map(),
  };

  of(kind: TermKind): Iterable<PlacedTerms> {
    return this.#byKind[kind].values();
  }

  added(pod: PodInfo): void {
    this.#apply(pod, 1);
  }

  removed(pod: PodInfo): void {
    this.#apply(pod, -1);
  }

  #apply(pod: PodInfo, by: 1 | -1): void {
    for (const kind of KINDS) {
      for (const term of pod.affinity[kind]) change(this.#byKind[kind], term, { node: pod.nodeName, by });
    }
  }
}

function change(
  entries: Map<string, Entry>,
  term: AffinityTerm | WeightedTerm,
  { node, by }: { node: string; by: 1 | -1 },
): void {
  const weight = 'weight' in term ? term.weight : 1;
  const key = `${term.topologyKey}\n${weight}\n${term.text}`;
  const entry = entries.get(key) ?? { term, weight, byNode: new Map<string, number>() };
  entries.set(key, entry);
  const count = (entry.byNode.get(node) ?? 0) + by;
  if (count > 0) entry.byNode.set(node, count);
  else entry.byNode.delete(node);
  if (entry.byNode.size === 0) entries.delete(key);
}
