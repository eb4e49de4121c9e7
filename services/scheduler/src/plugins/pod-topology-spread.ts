import { HOSTNAME_LABEL } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import type { NodeInfo } from '../domain/node-info.ts';
import type { SpreadConstraint } from '../domain/pod-spread.ts';
import { SpreadState } from '../domain/spread-state.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import {
  type Cycle,
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
import { decodePodTopologySpreadArgs, type PodTopologySpreadArgs } from './args/pod-topology-spread-args.ts';
import { concerns, constraintsOf } from './spread-constraints.ts';

/** Spreads the pods of a group evenly over zones, hosts or other domains. */
export const POD_TOPOLOGY_SPREAD: PluginDefinition = {
  name: 'PodTopologySpread',
  points: ['preFilter', 'filter', 'preScore', 'score'],
  weight: 2,
  configure: (raw) => {
    const args = decodePodTopologySpreadArgs(raw);
    return () => createPodTopologySpread(args);
  },
};

const TOO_UNEVEN = rejected("node(s) didn't match pod topology spread constraints");
const NO_LABEL = rejectedForGood("node(s) didn't match pod topology spread constraints (missing required label)");

function createPodTopologySpread(args: PodTopologySpreadArgs): Plugin {
  return {
    preFilter: (cycle) => filterHard(cycle, args),
    preScore: (cycle, feasible) => scoreSoft(cycle, feasible, args),
    wakesOn: {
      'node-added': true,
      // The domain with the fewest pods may have been removed with it.
      'node-removed': true,
      'node-labels': true,
      'node-taints': true,
      'pod-placed': concerns,
      'pod-removed': concerns,
      'pod-labels': (pod, other) => pod.namespace === other.namespace,
    },
  };
}

function filterHard(cycle: Cycle, args: PodTopologySpreadArgs): PreFiltered {
  const hard = constraintsOf(cycle, 'DoNotSchedule', args);
  if (hard.constraints.length === 0) return SKIP;
  const states = hard.constraints.map(
    (constraint) => new SpreadState(constraint, cycle.snapshot.domainsOf(constraint.group, constraint.view)),
  );
  return {
    kind: 'check',
    check: checkOf(hard.constraints, states),
    fork: () => {
      const forks = states.map((state) => state.copy());
      return {
        check: checkOf(hard.constraints, forks),
        adjust: (pod, node, by) => {
          for (const [i, constraint] of hard.constraints.entries()) {
            if (constraint.group.includes(pod) && constraint.view.counted?.(node) === true) forks[i]?.adjust(node, by);
          }
        },
      };
    },
  };
}

/** In the order of the pod's constraints: the first failing one decides. */
function checkOf(constraints: readonly SpreadConstraint[], states: readonly SpreadState[]): NodeFilter {
  return (node) => {
    for (let i = 0; i < constraints.length; i++) {
      const constraint = constraints[i];
      const state = states[i];
      if (constraint === undefined || state === undefined) continue;
      const count = state.countAt(node);
      if (count === undefined) return NO_LABEL;
      if (count + Number(constraint.includesSelf) - state.fewest > constraint.maxSkew) return TOO_UNEVEN;
    }
    return undefined;
  };
}

function scoreSoft(cycle: Cycle, feasible: readonly NodeInfo[], args: PodTopologySpreadArgs): NodeScorer | undefined {
  const soft = constraintsOf(cycle, 'ScheduleAnyway', args);
  if (soft.constraints.length === 0) return undefined;
  const counted = new Set(feasible.filter(soft.takesPart));
  const rows = soft.constraints.map((constraint) => rowOf(constraint, counted, cycle.snapshot));
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

/** The weight of a difference of one pod, by the number of domains. */
export const topologyWeight = (domains: number): number => Math.log(domains + 2);

/** One constraint's part of a node's raw score: more matching pods in its domain give a higher, worse score. */
function rowOf(
  constraint: SpreadConstraint,
  counted: ReadonlySet<NodeInfo>,
  snapshot: Snapshot,
): (node: NodeInfo) => number {
  const { topologyKey, maxSkew } = constraint;
  if (topologyKey === HOSTNAME_LABEL) {
    const counts = snapshot.countsOf(constraint.group);
    const weight = topologyWeight(counted.size);
    return (node) =>
      !Object.hasOwn(node.labels, topologyKey) ? 0 : (counts.get(node.name) ?? 0) * weight + (maxSkew - 1);
  }
  const domains = new Set<string>();
  // Nodes without the key form one more domain when they take part.
  for (const { labels } of counted) domains.add(ownValue(labels, topologyKey) ?? '');
  const counts = snapshot.domainsOf(constraint.group, constraint.view);
  const weight = topologyWeight(domains.size);
  return (node) => {
    const count = counts.at(node);
    return count === undefined ? 0 : count * weight + (maxSkew - 1);
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
