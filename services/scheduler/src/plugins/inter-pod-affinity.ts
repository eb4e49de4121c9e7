import type { PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import { type AffinityTerm, type NamespaceLabels, selectsPod } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { TopologyCounts } from '../domain/topology-counts.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import {
  type Cycle,
  type Fork,
  type NodeFilter,
  type NodeScorer,
  type Plugin,
  type PreFiltered,
  rejected,
  rejectedForGood,
  SKIP,
  type Snapshot,
} from '../framework/plugin.ts';
import { NODE_SCORE_MAX } from '../limits.ts';
import { decodeInterPodAffinityArgs, type InterPodAffinityArgs } from './args/small-args.ts';

/** Pods near pods, and pods away from pods, as the incoming pod and those already placed ask for. */
export const INTER_POD_AFFINITY: PluginDefinition = {
  name: 'InterPodAffinity',
  points: ['preFilter', 'filter', 'preScore', 'score'],
  weight: 2,
  configure: (raw) => {
    const args = decodeInterPodAffinityArgs(raw);
    return () => createInterPodAffinity(args);
  },
};

const NOT_NEAR = rejectedForGood("node(s) didn't match pod affinity rules");
const TOO_NEAR = rejected("node(s) didn't match pod anti-affinity rules");
const REPELLED = rejected("node(s) didn't satisfy existing pods anti-affinity rules");

function createInterPodAffinity(args: InterPodAffinityArgs): Plugin {
  return {
    preFilter: filterRequired,
    preScore: (cycle) => scorePreferred(cycle, args),
    wakesOn: {
      'node-added': true,
      'node-labels': true,
      'pod-placed': (pod, other) => pod.affinity.required.some((term) => mayMatch(term, other)),
      'pod-labels': true,
      'pod-removed': (pod, other) =>
        pod.affinity.requiredAnti.some((term) => mayMatch(term, other)) ||
        other.affinity.requiredAnti.some((term) => mayMatch(term, pod)),
      'namespace-changed': (pod) => [...pod.affinity.required, ...pod.affinity.requiredAnti].some(asksNamespaces),
    },
  };
}

const asksNamespaces = ({ namespaceSelector }: AffinityTerm): boolean => namespaceSelector.requirements.length > 0;

/** What is known of the pods alone; namespaces that are selected by labels are taken for matching. */
function mayMatch(term: AffinityTerm, { namespace, labels }: PodInfo): boolean {
  const inReach = term.namespaces.has(namespace) || term.namespaceSelector.empty || asksNamespaces(term);
  return inReach && term.selector.matches(labels);
}

/** What the decision rests on: counts by topology key and value. */
interface State {
  readonly pod: PodInfo;
  readonly labelsOf: NamespaceLabels;
  /** Pods that match every required term, by each term's key. */
  readonly wanted: TopologyCounts;
  /** Of each anti-affinity term in turn. */
  readonly unwanted: readonly TopologyCounts[];
  /** Pods that keep the incoming one out of their domain. */
  readonly repelling: TopologyCounts;
}

function filterRequired({ pod, snapshot }: Cycle): PreFiltered {
  const { required, requiredAnti } = pod.affinity;
  const repelling = repelledBy(pod, snapshot);
  if (required.length === 0 && requiredAnti.length === 0 && repelling.isEmpty) return SKIP;
  const labelsOf = snapshot.namespaceLabels;
  const wanted = new TopologyCounts();
  for (const { topologyKey } of required)
    count(wanted, topologyKey, { group: groupOfAll(required, labelsOf), snapshot });
  const unwanted = requiredAnti.map((term) => {
    const counts = new TopologyCounts();
    count(counts, term.topologyKey, { group: groupOf(term, labelsOf), snapshot });
    return counts;
  });
  const state: State = { pod, labelsOf, wanted, unwanted, repelling };
  return { kind: 'check', check: checkOf(state), fork: () => forkOf(state) };
}

function checkOf(state: State): NodeFilter {
  const { required, requiredAnti } = state.pod.affinity;
  const matchesOwnTerms = required.every((term) => selectsPod(term, state.pod, state.labelsOf));
  return (node) => {
    if (!attracts(node, state, matchesOwnTerms)) return NOT_NEAR;
    for (const [i, { topologyKey }] of requiredAnti.entries()) {
      if ((state.unwanted[i]?.at(node, topologyKey) ?? 0) > 0) return TOO_NEAR;
    }
    return state.repelling.touches(node) ? REPELLED : undefined;
  };
}

/** Every term needs its label on the node and a matching pod in the domain; a pod that matches its own terms may come first. */
function attracts(node: NodeInfo, { pod, wanted }: State, matchesOwnTerms: boolean): boolean {
  const { required } = pod.affinity;
  if (required.length === 0) return true;
  if (required.some((term) => node.labels[term.topologyKey] === undefined)) return false;
  if (required.every(({ topologyKey }) => wanted.at(node, topologyKey) > 0)) return true;
  return wanted.isEmpty && matchesOwnTerms;
}

function forkOf({ pod, labelsOf, ...counts }: State): Fork {
  const { required, requiredAnti } = pod.affinity;
  const wanted = counts.wanted.copy();
  const unwanted = counts.unwanted.map((each) => each.copy());
  const repelling = counts.repelling.copy();
  return {
    check: checkOf({ pod, labelsOf, wanted, unwanted, repelling }),
    adjust: (other, node, by) => {
      if (required.length > 0 && required.every((term) => selectsPod(term, other, labelsOf))) {
        for (const { topologyKey } of required) wanted.add(node, topologyKey, by);
      }
      for (const [i, term] of requiredAnti.entries()) {
        if (selectsPod(term, other, labelsOf)) unwanted[i]?.add(node, term.topologyKey, by);
      }
      for (const term of other.affinity.requiredAnti) {
        if (selectsPod(term, pod, labelsOf)) repelling.add(node, term.topologyKey, by);
      }
    },
  };
}

/** Domains that placed pods keep the incoming pod out of. */
function repelledBy(pod: PodInfo, snapshot: Snapshot): TopologyCounts {
  const repelling = new TopologyCounts();
  for (const { term, byNode } of snapshot.placedTerms('requiredAnti')) {
    if (selectsPod(term, pod, snapshot.namespaceLabels))
      addAll(repelling, term.topologyKey, { byNode, snapshot, times: 1 });
  }
  return repelling;
}

function scorePreferred({ pod, snapshot }: Cycle, args: InterPodAffinityArgs): NodeScorer | undefined {
  const scores = new TopologyCounts();
  const { preferred, preferredAnti } = pod.affinity;
  for (const term of preferred) addPreferred(scores, term, { times: term.weight, snapshot });
  for (const term of preferredAnti) addPreferred(scores, term, { times: -term.weight, snapshot });
  const hasOwn = preferred.length + preferredAnti.length > 0;
  if (args.hardPodAffinityWeight > 0) addWishes(scores, 'required', { pod, snapshot }, args.hardPodAffinityWeight);
  if (hasOwn || !args.ignorePreferredTermsOfExistingPods) {
    addWishes(scores, 'preferred', { pod, snapshot }, 1);
    addWishes(scores, 'preferredAnti', { pod, snapshot }, -1);
  }
  if (scores.isEmpty) return undefined;
  return { score: (node) => scores.sumOf(node), normalize: normalizeByRange };
}

/** What placed pods wish about the incoming one. */
function addWishes(
  scores: TopologyCounts,
  kind: 'required' | 'preferred' | 'preferredAnti',
  { pod, snapshot }: Cycle,
  times: number,
): void {
  for (const { term, weight, byNode } of snapshot.placedTerms(kind)) {
    if (!selectsPod(term, pod, snapshot.namespaceLabels)) continue;
    addAll(scores, term.topologyKey, { byNode, snapshot, times: times * weight });
  }
}

function addPreferred(
  scores: TopologyCounts,
  term: AffinityTerm,
  { times, snapshot }: { readonly times: number; readonly snapshot: Snapshot },
): void {
  const byNode = snapshot.countsOf(groupOf(term, snapshot.namespaceLabels));
  addAll(scores, term.topologyKey, { byNode, snapshot, times });
}

function count(
  counts: TopologyCounts,
  topologyKey: string,
  { group, snapshot }: { readonly group: PodGroup; readonly snapshot: Snapshot },
): void {
  addAll(counts, topologyKey, { byNode: snapshot.countsOf(group), snapshot, times: 1 });
}

function addAll(
  counts: TopologyCounts,
  topologyKey: string,
  { byNode, snapshot, times }: { byNode: ReadonlyMap<string, number>; snapshot: Snapshot; times: number },
): void {
  for (const [name, pods] of byNode) {
    const node = snapshot.node(name);
    if (node !== undefined) counts.add(node, topologyKey, pods * times);
  }
}

function groupOf(term: AffinityTerm, labelsOf: NamespaceLabels): PodGroup {
  return {
    key: `affinity\n${term.text}`,
    ...oneNamespace([term]),
    includes: (placed) => selectsPod(term, placed, labelsOf),
  };
}

/** A pod satisfies affinity only if it matches every term. */
function groupOfAll(terms: readonly AffinityTerm[], labelsOf: NamespaceLabels): PodGroup {
  return {
    key: `affinity\n${terms.map(({ text }) => text).join('\n&')}`,
    ...oneNamespace(terms),
    includes: (placed) => terms.every((term) => selectsPod(term, placed, labelsOf)),
  };
}

/** The namespace that all pods of the group are in, when the terms name it. */
function oneNamespace(terms: readonly AffinityTerm[]): { readonly namespace?: string } {
  for (const { namespaces, namespaceSelector } of terms) {
    const [only] = namespaces;
    const selectsMore = namespaceSelector.empty || namespaceSelector.requirements.length > 0;
    if (namespaces.size === 1 && only !== undefined && !selectsMore) return { namespace: only };
  }
  return {};
}

function normalizeByRange(scores: number[]): void {
  const lowest = scores.reduce((least, each) => Math.min(least, each), Number.MAX_SAFE_INTEGER);
  const range = scores.reduce((most, each) => Math.max(most, each), Number.MIN_SAFE_INTEGER) - lowest;
  for (const [i, score] of scores.entries()) {
    scores[i] = range === 0 ? 0 : Math.trunc((NODE_SCORE_MAX * (score - lowest)) / range);
  }
}
