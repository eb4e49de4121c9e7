import { pairOf } from '../domain/label-pair.ts';
import type { PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import { type AffinityTerm, type NamespaceLabels, selectsPod, type WeightedTerm } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { TermKind } from '../domain/term-index.ts';
import { type Layer, TopologyCounts } from '../domain/topology-counts.ts';
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

/** Pod affinity and anti-affinity, both of the incoming pod and of placed pods. */
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
      // Its pods no longer repel other pods.
      'node-removed': true,
      'node-labels': true,
      'pod-placed': (pod, other) => pod.affinity.required.some((term) => mayMatch(term, other)),
      'pod-labels': true,
      'pod-removed': (pod, other) =>
        pod.affinity.requiredAnti.some((term) => mayMatch(term, other)) ||
        other.affinity.requiredAnti.some((term) => mayMatch(term, pod)) ||
        mayComeFirst(pod, other),
      'namespace-changed': (pod) => [...pod.affinity.required, ...pod.affinity.requiredAnti].some(asksNamespaces),
    },
  };
}

const asksNamespaces = ({ namespaceSelector }: AffinityTerm): boolean => namespaceSelector.requirements.length > 0;

/** Uses only the pods; namespaces selected by labels count as matching. */
function mayMatch(term: AffinityTerm, { namespace, labels }: PodInfo): boolean {
  const inReach = term.namespaces.has(namespace) || term.namespaceSelector.empty || asksNamespaces(term);
  return inReach && term.selector.matches(labels);
}

/** When the last wanted pod is gone, a pod that matches its own terms may start anywhere. */
function mayComeFirst(pod: PodInfo, gone: PodInfo): boolean {
  const { required } = pod.affinity;
  return required.length > 0 && required.every((term) => mayMatch(term, gone) && mayMatch(term, pod));
}

/** The input of the decision: counts by topology key and value. */
interface State {
  readonly pod: PodInfo;
  readonly labelsOf: NamespaceLabels;
  /** Pods that match every required term, by the key of each term. */
  readonly wanted: TopologyCounts;
  /** One per anti-affinity term. */
  readonly unwanted: readonly TopologyCounts[];
  /** Pods that repel the incoming pod from their domain. */
  readonly repelling: TopologyCounts;
}

function filterRequired({ pod, snapshot }: Cycle): PreFiltered {
  const { required, requiredAnti } = pod.affinity;
  const repelling = repelledBy(pod, snapshot);
  if (required.length === 0 && requiredAnti.length === 0 && repelling.isEmpty) return SKIP;
  const labelsOf = snapshot.namespaceLabels;
  const everyTerm = groupOfAll(required, labelsOf);
  const wanted = new TopologyCounts(keysOf(required).map((key) => layerOf(key, { group: everyTerm, snapshot })));
  const unwanted = requiredAnti.map(
    (term) => new TopologyCounts([layerOf(term.topologyKey, { group: groupOf(term, labelsOf), snapshot })]),
  );
  const state: State = { pod, labelsOf, wanted, unwanted, repelling };
  return { kind: 'check', check: checkOf(state), fork: () => forkOf(state) };
}

function checkOf(state: State): NodeFilter {
  const { required, requiredAnti } = state.pod.affinity;
  const matchesOwnTerms = required.every((term) => selectsPod(term, state.pod, state.labelsOf));
  return (node) => {
    if (!attracts(node, state, matchesOwnTerms)) return NOT_NEAR;
    for (let i = 0; i < requiredAnti.length; i++) {
      if ((state.unwanted[i]?.at(node, requiredAnti[i]?.topologyKey ?? '') ?? 0) > 0) return TOO_NEAR;
    }
    return state.repelling.touches(node) ? REPELLED : undefined;
  };
}

/**
 * Every term needs its label on the node and a matching pod in the domain. A pod that matches its own terms may be the
 * first.
 */
function attracts(node: NodeInfo, { pod, wanted }: State, matchesOwnTerms: boolean): boolean {
  const { required } = pod.affinity;
  if (required.length === 0) return true;
  if (required.some((term) => !Object.hasOwn(node.labels, term.topologyKey))) return false;
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
        for (const topologyKey of keysOf(required)) wanted.add(node, topologyKey, by);
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

/** Returns the domains from which placed pods repel the incoming pod. */
function repelledBy(pod: PodInfo, snapshot: Snapshot): TopologyCounts {
  return new TopologyCounts(wishesAbout(pod, 'requiredAnti', { snapshot, times: 1 }));
}

function scorePreferred({ pod, snapshot }: Cycle, args: InterPodAffinityArgs): NodeScorer | undefined {
  const { preferred, preferredAnti } = pod.affinity;
  const layers = [
    ...preferred.map((term) => preferenceOf(term, { snapshot, times: 1 })),
    ...preferredAnti.map((term) => preferenceOf(term, { snapshot, times: -1 })),
  ];
  // Required and preferred terms of placed pods are counted together.
  if (layers.length === 0 && args.ignorePreferredTermsOfExistingPods) return undefined;
  if (args.hardPodAffinityWeight > 0) {
    layers.push(...wishesAbout(pod, 'required', { snapshot, times: args.hardPodAffinityWeight }));
  }
  layers.push(...wishesAbout(pod, 'preferred', { snapshot, times: 1 }));
  layers.push(...wishesAbout(pod, 'preferredAnti', { snapshot, times: -1 }));
  const scores = new TopologyCounts(layers);
  if (scores.isEmpty) return undefined;
  return { score: (node) => scores.sumOf(node), normalize: normalizeByRange };
}

interface Weighing {
  readonly snapshot: Snapshot;
  readonly times: number;
}

/** Terms of placed pods about the incoming pod. */
function wishesAbout(pod: PodInfo, kind: TermKind, { snapshot, times }: Weighing): Layer[] {
  const layers: Layer[] = [];
  for (const { term, weight, domains } of snapshot.placedTerms(pod, kind)) {
    if (!selectsPod(term, pod, snapshot.namespaceLabels)) continue;
    layers.push({ topologyKey: term.topologyKey, domains: domains(), times: times * weight });
  }
  return layers;
}

function preferenceOf(term: WeightedTerm, { snapshot, times }: Weighing): Layer {
  const layer = layerOf(term.topologyKey, { group: groupOf(term, snapshot.namespaceLabels), snapshot });
  return { ...layer, times: times * term.weight };
}

function layerOf(
  topologyKey: string,
  { group, snapshot }: { readonly group: PodGroup; readonly snapshot: Snapshot },
): Layer {
  return { topologyKey, domains: snapshot.domainsOf(group, { key: topologyKey, topologyKey }), times: 1 };
}

/** Terms may share a key, whose domains count once. */
function keysOf(terms: readonly AffinityTerm[]): readonly string[] {
  return terms.length < 2
    ? terms.map(({ topologyKey }) => topologyKey)
    : [...new Set(terms.map(({ topologyKey }) => topologyKey))];
}

function groupOf(term: AffinityTerm, labelsOf: NamespaceLabels): PodGroup {
  return {
    key: `affinity\n${term.text}`,
    pair: pairOf(term.selector),
    ...oneNamespace([term]),
    includes: (placed) => selectsPod(term, placed, labelsOf),
  };
}

/** A pod counts for affinity only if it matches every term. */
function groupOfAll(terms: readonly AffinityTerm[], labelsOf: NamespaceLabels): PodGroup {
  return {
    key: `affinity\n${terms.map(({ text }) => text).join('\n&')}`,
    pair: terms.map(({ selector }) => pairOf(selector)).find((pair) => pair !== '') ?? '',
    ...oneNamespace(terms),
    includes: (placed) => terms.every((term) => selectsPod(term, placed, labelsOf)),
  };
}

/** Returns the namespace of the whole group, when the terms name it. */
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
  for (let i = 0; i < scores.length; i++) {
    // Divides first, as Kubernetes does: 29 of 100 is 28, because 0.29 is slightly less.
    scores[i] = range === 0 ? 0 : Math.trunc(NODE_SCORE_MAX * (((scores[i] ?? 0) - lowest) / range));
  }
}
