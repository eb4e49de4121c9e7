import {
  compileNodeTerm,
  compileNodeTerms,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type NodeTest,
  type PreferredSchedulingTerm,
} from '@holdfast/api';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { normalizeByHighest } from '../framework/normalize.ts';
import { type NodeScorer, type Plugin, type PreFiltered, rejectedForGood, SKIP } from '../framework/plugin.ts';
import { decodeNodeAffinityArgs, type NodeAffinityArgs } from './args/node-affinity-args.ts';

const MISMATCH = rejectedForGood("node(s) didn't match Pod's node affinity/selector");
const MISMATCH_ENFORCED = rejectedForGood("node(s) didn't match scheduler-enforced node affinity");
/** Every term names nodes, and the terms exclude each other. */
const CONFLICT = rejectedForGood('pod affinity terms conflict');

/** `nodeSelector` and node affinity of the pod and of its profile (`addedAffinity`). */
export const NODE_AFFINITY: PluginDefinition = {
  name: 'NodeAffinity',
  points: ['preFilter', 'filter', 'preScore', 'score'],
  weight: 2,
  configure: (raw) => {
    const args = decodeNodeAffinityArgs(raw);
    return () => createNodeAffinity(args);
  },
};

interface WeightedTest {
  readonly weight: number;
  readonly matches: NodeTest;
}

function createNodeAffinity({ addedAffinity }: NodeAffinityArgs): Plugin {
  const terms = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const enforced = terms === undefined ? undefined : compileNodeTerms(terms);
  const preferred = (addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(compilePreferred);
  const passes = (pod: PodInfo, node: NodeInfo): boolean =>
    (enforced === undefined || enforced(node)) && (pod.requiredNodes === undefined || pod.requiredNodes(node));
  return {
    localFilter: true,
    preFilter: ({ pod }) => preFilter(pod, enforced),
    preScore: ({ pod }) => scorerOf(pod, preferred),
    wakesOn: { 'node-added': passes, 'node-labels': passes },
  };
}

function preFilter(pod: PodInfo, enforced: NodeTest | undefined): PreFiltered {
  const { requiredNodes } = pod;
  if (requiredNodes === undefined && enforced === undefined) return SKIP;
  const only = namedNodes(
    pod.pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
  );
  if (only?.size === 0) return { kind: 'reject', rejection: CONFLICT };
  return {
    kind: 'check',
    check: (node) => {
      if (enforced !== undefined && !enforced(node)) return MISMATCH_ENFORCED;
      return requiredNodes === undefined || requiredNodes(node) ? undefined : MISMATCH;
    },
    ...(only === undefined ? {} : { only }),
  };
}

/** Returns the nodes named by the terms, when every term names some: pods of a DaemonSet are checked on one node. */
function namedNodes(terms: readonly NodeSelectorTerm[] | undefined): ReadonlySet<string> | undefined {
  if (terms === undefined || terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const { matchFields = [] } of terms) {
    const lists = matchFields.filter(isNameIn).map(({ values = [] }) => new Set(values));
    const [first] = lists;
    if (first === undefined) return undefined;
    for (const name of lists.reduce((left, right) => left.intersection(right), first)) names.add(name);
  }
  return names;
}

function isNameIn({ key, operator }: NodeSelectorRequirement): boolean {
  return key === 'metadata.name' && operator === 'In';
}

function compilePreferred({ preference, weight }: PreferredSchedulingTerm): WeightedTest {
  return { weight, matches: compileNodeTerm(preference) };
}

function scorerOf({ pod }: PodInfo, added: readonly WeightedTest[]): NodeScorer | undefined {
  const own = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (own.length === 0 && added.length === 0) return undefined;
  const tests = [...added, ...own.map(compilePreferred)];
  return {
    score: (node) => tests.reduce((sum, { weight, matches }) => sum + (matches(node) ? weight : 0), 0),
    normalize: (scores) => normalizeByHighest(scores, false),
  };
}
