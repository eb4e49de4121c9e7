import type { PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import { type AffinityTerm, type NamespaceLabels, selectsPod } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import {
  type Cycle,
  type NodeFilter,
  type NodeScorer,
  type Plugin,
  rejected,
  rejectedForGood,
  type Snapshot,
} from '../framework/plugin.ts';
import { NODE_SCORE_MAX } from '../limits.ts';

/** A placed pod's required affinity pulls pods that match it with this weight, as a preference. */
const REQUIRED_PULL = 1;

/** Pods near pods, and pods away from pods, as the incoming pod and those already placed ask for. */
export const createInterPodAffinity = (): Plugin => ({
  name: 'InterPodAffinity',
  filter: (cycle) => filterRequired(cycle),
  score: (cycle) => scorePreferred(cycle),
  weight: 2,
  retryAfter: ['node-added', 'node-changed', 'pod-placed', 'pod-removed', 'pod-changed'],
});

/** Numbers by topology key and value. */
type ByTopology = Map<string, Map<string, number>>;

function filterRequired({ pod, snapshot }: Cycle): NodeFilter | undefined {
  const { required, requiredAnti } = pod.affinity;
  const repelling = repelledBy(pod, snapshot);
  if (required.length === 0 && requiredAnti.length === 0 && repelling.size === 0) return undefined;
  const wanted = required.map((term) => countByDomain(term, groupOfAll(required, snapshot.namespaceLabels), snapshot));
  const unwanted = requiredAnti.map((term) => countByDomain(term, groupOf(term, snapshot.namespaceLabels), snapshot));
  const nobodyMatches = wanted.every((counts) => counts.size === 0);
  const firstOfItsKind = nobodyMatches && required.every((term) => selectsPod(term, pod, snapshot.namespaceLabels));
  return (node) => {
    if (!attracts(node, required, wanted, firstOfItsKind)) {
      return rejectedForGood("node(s) didn't match pod affinity rules");
    }
    if (requiredAnti.some((term, i) => countAt(unwanted[i], node.labels[term.topologyKey]) > 0)) {
      return rejected("node(s) didn't match pod anti-affinity rules");
    }
    for (const [key, counts] of repelling) {
      if (countAt(counts, node.labels[key]) > 0) {
        return rejected("node(s) didn't satisfy existing pods anti-affinity rules");
      }
    }
    return undefined;
  };
}

/** Every term needs its label on the node and a matching pod in the domain; a pod that matches its own terms may come first. */
function attracts(
  node: NodeInfo,
  terms: readonly AffinityTerm[],
  wanted: readonly ReadonlyMap<string, number>[],
  firstOfItsKind: boolean,
): boolean {
  if (terms.some((term) => node.labels[term.topologyKey] === undefined)) return false;
  return firstOfItsKind || terms.every((term, i) => countAt(wanted[i], node.labels[term.topologyKey]) > 0);
}

/** Domains that placed pods keep the incoming pod out of. */
function repelledBy(pod: PodInfo, snapshot: Snapshot): ByTopology {
  const repelling: ByTopology = new Map();
  for (const node of snapshot.nodesWithAffinityPods) {
    for (const placed of node.podsWithAffinity.values()) {
      for (const term of placed.affinity.requiredAnti) {
        if (selectsPod(term, pod, snapshot.namespaceLabels)) addAt(repelling, node, term.topologyKey, 1);
      }
    }
  }
  return repelling;
}

function scorePreferred({ pod, snapshot }: Cycle): NodeScorer | undefined {
  const scores: ByTopology = new Map();
  const { preferred, preferredAnti } = pod.affinity;
  for (const term of preferred) addCounts(scores, term, term.weight, snapshot);
  for (const term of preferredAnti) addCounts(scores, term, -term.weight, snapshot);
  for (const node of snapshot.nodesWithAffinityPods) {
    for (const placed of node.podsWithAffinity.values()) addWishes(scores, node, placed, { pod, snapshot });
  }
  if (scores.size === 0) return undefined;
  return {
    score: (node) => {
      let total = 0;
      for (const [key, byValue] of scores) total += countAt(byValue, node.labels[key]);
      return total;
    },
    normalize: normalizeByRange,
  };
}

/** What a placed pod wishes about the incoming one. */
function addWishes(scores: ByTopology, node: NodeInfo, placed: PodInfo, { pod, snapshot }: Cycle): void {
  const { required, preferred, preferredAnti } = placed.affinity;
  const selects = (term: AffinityTerm): boolean => selectsPod(term, pod, snapshot.namespaceLabels);
  for (const term of required) if (selects(term)) addAt(scores, node, term.topologyKey, REQUIRED_PULL);
  for (const term of preferred) if (selects(term)) addAt(scores, node, term.topologyKey, term.weight);
  for (const term of preferredAnti) if (selects(term)) addAt(scores, node, term.topologyKey, -term.weight);
}

function addCounts(scores: ByTopology, term: AffinityTerm, weight: number, snapshot: Snapshot): void {
  const counts = snapshot.countsOf(groupOf(term, snapshot.namespaceLabels));
  for (const [nodeName, count] of counts) {
    const node = snapshot.node(nodeName);
    if (node !== undefined) addAt(scores, node, term.topologyKey, weight * count);
  }
}

function countByDomain(term: AffinityTerm, group: PodGroup, snapshot: Snapshot): ReadonlyMap<string, number> {
  const byTopology: ByTopology = new Map();
  for (const [nodeName, count] of snapshot.countsOf(group)) {
    const node = snapshot.node(nodeName);
    if (node !== undefined) addAt(byTopology, node, term.topologyKey, count);
  }
  return byTopology.get(term.topologyKey) ?? new Map();
}

function groupOf(term: AffinityTerm, labelsOf: NamespaceLabels): PodGroup {
  return { key: `affinity\n${textOf(term)}`, includes: (placed) => selectsPod(term, placed, labelsOf) };
}

/** A pod satisfies affinity only if it matches every term. */
function groupOfAll(terms: readonly AffinityTerm[], labelsOf: NamespaceLabels): PodGroup {
  return {
    key: `affinity\n${terms.map(textOf).join('\n&')}`,
    includes: (placed) => terms.every((term) => selectsPod(term, placed, labelsOf)),
  };
}

function textOf({ namespaces, namespaceSelector, selector }: AffinityTerm): string {
  const text = (matcher: AffinityTerm['selector']): string =>
    matcher.requirements.length === 0 ? String(matcher.empty) : matcher.text;
  return JSON.stringify([[...namespaces].toSorted(), text(namespaceSelector), text(selector)]);
}

function addAt(byTopology: ByTopology, node: NodeInfo, topologyKey: string, amount: number): void {
  const value = node.labels[topologyKey];
  if (value === undefined) return;
  const byValue = byTopology.get(topologyKey) ?? new Map<string, number>();
  byTopology.set(topologyKey, byValue);
  byValue.set(value, (byValue.get(value) ?? 0) + amount);
}

function countAt(counts: ReadonlyMap<string, number> | undefined, value: string | undefined): number {
  return value === undefined ? 0 : (counts?.get(value) ?? 0);
}

function normalizeByRange(scores: number[]): void {
  const lowest = Math.min(...scores);
  const range = Math.max(...scores) - lowest;
  for (const [i, score] of scores.entries()) {
    scores[i] = range === 0 ? 0 : Math.trunc((NODE_SCORE_MAX * (score - lowest)) / range);
  }
}
