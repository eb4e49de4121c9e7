import { DomainCounts } from './domain-counts.ts';
import { pairOf, pairsOf } from './label-pair.ts';
import type { NodeInfo } from './node-info.ts';
import type { AffinityTerm, PodAffinityTerms, WeightedTerm } from './pod-affinity.ts';
import type { PodInfo } from './pod-info.ts';

export type TermKind = keyof PodAffinityTerms;

/** An affinity term that several placed pods share. */
export interface PlacedTerms {
  readonly term: AffinityTerm;
  /** 1 for a required term. */
  readonly weight: number;
  /** The number of pods with the term per node. */
  readonly byNode: ReadonlyMap<string, number>;
  /** The same by value of the term's topology key. */
  readonly domains: () => DomainCounts;
}

interface Entry extends PlacedTerms {
  readonly byNode: Map<string, number>;
  /** Absent until first read. */
  counts: DomainCounts | undefined;
}

/** By a label that every pod matching the term has. */
type EntriesByPair = Map<string, Map<string, Entry>>;

type NodeOf = (name: string) => NodeInfo | undefined;

const KINDS: readonly TermKind[] = ['required', 'requiredAnti', 'preferred', 'preferredAnti'];

/**
 * The distinct affinity terms of placed pods. Replicas share terms, so a decision costs as much as the distinct terms,
 * not as the pods that have them.
 */
export class TermIndex {
  readonly #byKind: Readonly<Record<TermKind, EntriesByPair>> = {
    required: new Map(),
    requiredAnti: new Map(),
    preferred: new Map(),
    preferredAnti: new Map(),
  };

  readonly #nodeOf: NodeOf;

  constructor(nodeOf: NodeOf) {
    this.#nodeOf = nodeOf;
  }

  /** Nodes were added, removed or relabelled. */
  domainsMoved(): void {
    for (const kind of KINDS) {
      for (const entries of this.#byKind[kind].values()) for (const entry of entries.values()) entry.counts = undefined;
    }
  }

  /** Yields the terms that may match the pod. */
  *about(pod: PodInfo, kind: TermKind): Iterable<PlacedTerms> {
    const byPair = this.#byKind[kind];
    if (byPair.size === 0) return;
    for (const pair of pairsOf(pod)) yield* byPair.get(pair)?.values() ?? [];
  }

  added(pod: PodInfo): void {
    this.#apply(pod, 1);
  }

  removed(pod: PodInfo): void {
    this.#apply(pod, -1);
  }

  #apply(pod: PodInfo, by: 1 | -1): void {
    for (const kind of KINDS) {
      for (const term of pod.affinity[kind]) this.#change(this.#byKind[kind], term, { node: pod.nodeName, by });
    }
  }

  #change(byPair: EntriesByPair, term: AffinityTerm | WeightedTerm, { node, by }: { node: string; by: 1 | -1 }): void {
    const weight = 'weight' in term ? term.weight : 1;
    const key = `${term.topologyKey}\n${weight}\n${term.text}`;
    const pair = pairOf(term.selector);
    const entries = byPair.get(pair) ?? new Map<string, Entry>();
    byPair.set(pair, entries);
    const entry = entries.get(key) ?? newEntry(term, weight, this.#nodeOf);
    entries.set(key, entry);
    const count = (entry.byNode.get(node) ?? 0) + by;
    if (count > 0) entry.byNode.set(node, count);
    else entry.byNode.delete(node);
    entry.counts?.add(this.#nodeOf(node), by);
    if (entry.byNode.size === 0) entries.delete(key);
    if (entries.size === 0) byPair.delete(pair);
  }
}

function newEntry(term: AffinityTerm, weight: number, nodeOf: NodeOf): Entry {
  const { topologyKey } = term;
  const entry: Entry = {
    term,
    weight,
    byNode: new Map<string, number>(),
    counts: undefined,
    domains: () => {
      entry.counts ??= countDomains(topologyKey, entry.byNode, nodeOf);
      return entry.counts;
    },
  };
  return entry;
}

function countDomains(topologyKey: string, byNode: ReadonlyMap<string, number>, nodeOf: NodeOf): DomainCounts {
  const counts = new DomainCounts({ key: topologyKey, topologyKey });
  for (const [name, count] of byNode) counts.add(nodeOf(name), count);
  return counts;
}
