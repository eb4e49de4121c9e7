import type { NodeInfo } from '../domain/node-info.ts';
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
import {
  HOSTNAME_LABEL,
  hardConstraints,
  hasAllKeys,
  type SpreadConstraint,
  type SpreadConstraints,
  softConstraints,
} from './spread-constraints.ts';

/** Keeps the pods of a group even over zones, hosts or any other domain of nodes. */
export const createPodTopologySpread = (): Plugin => ({
  name: 'PodTopologySpread',
  filter: (cycle) => filterHard(cycle),
  score: (cycle, feasible) => scoreSoft(cycle, feasible),
  weight: 2,
  retryAfter: ['node-added', 'node-changed', 'pod-placed', 'pod-removed', 'pod-changed'],
});

interface Domains {
  readonly constraint: SpreadConstraint;
  readonly countOf: ReadonlyMap<string, number>;
  /** Fewest matching pods of any eligible domain. */
  readonly fewest: number;
}

const REASON = "node(s) didn't match pod topology spread constraints";

function filterHard({ pod, snapshot }: Cycle): NodeFilter | undefined {
  const hard = hardConstraints(pod);
  if (hard.constraints.length === 0) return undefined;
  const all = hard.constraints.map((constraint) => domainsOf(constraint, hard, snapshot));
  return (node) => {
    for (const { constraint, countOf, fewest } of all) {
      const domain = node.labels[constraint.topologyKey];
      if (domain === undefined) return rejectedForGood(`${REASON} (missing required label)`);
      const skew = (countOf.get(domain) ?? 0) + Number(constraint.includesSelf) - fewest;
      if (skew > constraint.maxSkew) return rejected(REASON);
    }
    return undefined;
  };
}

function domainsOf(constraint: SpreadConstraint, set: SpreadConstraints, snapshot: Snapshot): Domains {
  const counts = snapshot.countsOf(constraint.group);
  const countOf = new Map<string, number>();
  for (const node of snapshot.nodes) {
    if (!hasAllKeys(node, set) || !constraint.eligible(node)) continue;
    const domain = node.labels[constraint.topologyKey];
    if (domain !== undefined) countOf.set(domain, (countOf.get(domain) ?? 0) + (counts.get(node.name) ?? 0));
  }
  let fewest = Number.MAX_SAFE_INTEGER;
  for (const count of countOf.values()) fewest = Math.min(fewest, count);
  return { constraint, countOf, fewest: countOf.size < constraint.minDomains ? 0 : fewest };
}

function scoreSoft({ pod, snapshot }: Cycle, feasible: readonly NodeInfo[]): NodeScorer | undefined {
  const soft = softConstraints(pod);
  if (soft.constraints.length === 0) return undefined;
  const counted = new Set(feasible.filter((node) => hasAllKeys(node, soft)));
  const rows = soft.constraints.map((constraint) => rowOf(constraint, soft, counted, snapshot));
  return {
    score: (node) => {
      if (!counted.has(node)) return 0;
      let total = 0;
      for (const row of rows) total += row(node);
      return Math.round(total);
    },
    normalize: (scores, nodes) => normalize(scores, nodes, counted),
  };
}

/** The share of one constraint in a node's raw score: more matching pods in its domain, higher and so worse. */
function rowOf(
  constraint: SpreadConstraint,
  soft: SpreadConstraints,
  counted: ReadonlySet<NodeInfo>,
  snapshot: Snapshot,
): (node: NodeInfo) => number {
  const { topologyKey, maxSkew } = constraint;
  const counts = snapshot.countsOf(constraint.group);
  if (topologyKey === HOSTNAME_LABEL) {
    const weight = Math.log(counted.size + 2);
    return (node) =>
      node.labels[topologyKey] === undefined ? 0 : (counts.get(node.name) ?? 0) * weight + (maxSkew - 1);
  }
  const countOf = new Map<string, number>();
  for (const { labels } of counted) {
    const domain = labels[topologyKey];
    if (domain !== undefined) countOf.set(domain, 0);
  }
  const weight = Math.log(countOf.size + 2);
  for (const node of snapshot.nodes) {
    const domain = node.labels[topologyKey];
    const known = domain === undefined ? undefined : countOf.get(domain);
    if (domain === undefined || known === undefined || !hasAllKeys(node, soft) || !constraint.eligible(node)) continue;
    countOf.set(domain, known + (counts.get(node.name) ?? 0));
  }
  return (node) => {
    const domain = node.labels[topologyKey];
    return domain === undefined ? 0 : (countOf.get(domain) ?? 0) * weight + (maxSkew - 1);
  };
}

function normalize(scores: number[], nodes: readonly NodeInfo[], counted: ReadonlySet<NodeInfo>): void {
  let lowest = Number.MAX_SAFE_INTEGER;
  let highest = 0;
  for (const [i, node] of nodes.entries()) {
    if (!counted.has(node)) continue;
    lowest = Math.min(lowest, scores[i] ?? 0);
    highest = Math.max(highest, scores[i] ?? 0);
  }
  for (const [i, node] of nodes.entries()) {
    if (!counted.has(node)) scores[i] = 0;
    else if (highest === 0) scores[i] = NODE_SCORE_MAX;
    else scores[i] = Math.trunc((NODE_SCORE_MAX * (highest + lowest - (scores[i] ?? 0))) / highest);
  }
}
