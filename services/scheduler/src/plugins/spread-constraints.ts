import type { TopologySpreadConstraint } from '@holdfast/api';
import { compileLabelSelector, compileRequirements, type LabelSelectorMatcher, NOTHING } from '@holdfast/machinery';
import type { PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import { compileOrNothing, ownValues } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { firstUntolerated, HARD_EFFECTS } from '../domain/tolerations.ts';
import type { Cycle } from '../framework/plugin.ts';
import type { PodTopologySpreadArgs } from './args/pod-topology-spread-args.ts';

export const HOSTNAME_LABEL = 'kubernetes.io/hostname';

export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly group: PodGroup;
  /** Whether the incoming pod counts itself. */
  readonly includesSelf: boolean;
  /** Whether the node's domain and pods take part. */
  readonly eligible: (node: NodeInfo) => boolean;
}

export interface SpreadConstraints {
  readonly constraints: readonly SpreadConstraint[];
  /** Nodes that lack one of the keys take no part at all; false for the built-in defaults. */
  readonly requireAllKeys: boolean;
}

type Action = 'DoNotSchedule' | 'ScheduleAnyway';

/** The pod's own constraints of one kind; for a pod without any constraint the defaults over the pods of its owners. */
export function constraintsOf({ pod, snapshot }: Cycle, when: Action, args: PodTopologySpreadArgs): SpreadConstraints {
  const own = pod.pod.spec.topologySpreadConstraints ?? [];
  if (own.length > 0) return { constraints: compileAll(pod, own, when), requireAllKeys: true };
  const requireAllKeys = !args.systemDefaulted;
  const defaults = args.defaultConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);
  const selector = defaults.length === 0 ? undefined : snapshot.owners.selectorFor(pod);
  if (selector === undefined) return { constraints: [], requireAllKeys };
  return { constraints: defaults.map((each) => compile(pod, each, selector)), requireAllKeys };
}

export function hasAllKeys(node: NodeInfo, { constraints, requireAllKeys }: SpreadConstraints): boolean {
  return !requireAllKeys || constraints.every(({ topologyKey }) => node.labels[topologyKey] !== undefined);
}

/** Selector and namespace decide alone whether a pod is one of the constraint's: changes of others cannot help. */
export function concerns(pod: PodInfo, other: PodInfo): boolean {
  const own = pod.pod.spec.topologySpreadConstraints ?? [];
  if (own.length === 0) return pod.namespace === other.namespace;
  if (pod.namespace !== other.namespace) return false;
  return compileAll(pod, own, 'DoNotSchedule').some(({ group }) => group.includes({ ...other, terminating: false }));
}

function compileAll(
  pod: PodInfo,
  constraints: readonly TopologySpreadConstraint[],
  when: Action,
): readonly SpreadConstraint[] {
  return constraints
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when)
    .map((constraint) => compile(pod, constraint, selectorOf(pod, constraint)));
}

function compile(pod: PodInfo, constraint: TopologySpreadConstraint, selector: LabelSelectorMatcher): SpreadConstraint {
  const honorsAffinity = constraint.nodeAffinityPolicy !== 'Ignore';
  const honorsTaints = constraint.nodeTaintsPolicy === 'Honor';
  return {
    topologyKey: constraint.topologyKey,
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 1,
    group: groupOf(pod.namespace, selector),
    includesSelf: selector.matches(pod.labels),
    eligible: (node) =>
      (!honorsAffinity || pod.requiredNodes === undefined || pod.requiredNodes(node)) &&
      (!honorsTaints || firstUntolerated(node.taints, pod.tolerations, HARD_EFFECTS) === undefined),
  };
}

function selectorOf(pod: PodInfo, constraint: TopologySpreadConstraint): LabelSelectorMatcher {
  return compileOrNothing(() => {
    const selector = compileLabelSelector(constraint.labelSelector);
    const added = ownValues(pod.pod, constraint.matchLabelKeys, 'in');
    return added.length === 0 || selector === NOTHING
      ? selector
      : compileRequirements([...selector.requirements, ...added]);
  });
}

/** Pods that are going away do not count: their place is about to be free. */
function groupOf(namespace: string, selector: LabelSelectorMatcher): PodGroup {
  return {
    key: `spread\n${namespace}\n${selector === NOTHING ? '!' : `=${selector.text}`}`,
    namespace,
    includes: (placed) => !placed.terminating && placed.namespace === namespace && selector.matches(placed.labels),
  };
}
