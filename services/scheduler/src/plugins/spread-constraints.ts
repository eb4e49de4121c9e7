import type { TopologySpreadConstraint } from '@holdfast/api';
import { compileLabelSelector, compileRequirements, type LabelSelectorMatcher, NOTHING } from '@holdfast/machinery';
import type { PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import { compileOrNothing, ownValues } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { firstUntolerated, HARD_EFFECTS } from '../domain/tolerations.ts';

export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
const ZONE_LABEL = 'topology.kubernetes.io/zone';

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
  /** Nodes that lack one of the keys take no part at all; false for the cluster's defaults. */
  readonly requireAllKeys: boolean;
}

const NONE: SpreadConstraints = { constraints: [], requireAllKeys: true };

export function hardConstraints(pod: PodInfo): SpreadConstraints {
  return { constraints: ownConstraints(pod, 'DoNotSchedule'), requireAllKeys: true };
}

/** The pod's own soft constraints; for a pod without any constraint the defaults over the pods of its owner. */
export function softConstraints(pod: PodInfo): SpreadConstraints {
  if ((pod.pod.spec.topologySpreadConstraints ?? []).length > 0) {
    return { constraints: ownConstraints(pod, 'ScheduleAnyway'), requireAllKeys: true };
  }
  return pod.ownerUid === '' ? NONE : { constraints: defaultConstraints(pod), requireAllKeys: false };
}

export function hasAllKeys(node: NodeInfo, { constraints, requireAllKeys }: SpreadConstraints): boolean {
  return !requireAllKeys || constraints.every(({ topologyKey }) => node.labels[topologyKey] !== undefined);
}

function ownConstraints(pod: PodInfo, when: string): readonly SpreadConstraint[] {
  return (pod.pod.spec.topologySpreadConstraints ?? [])
    .filter((constraint) => constraint.whenUnsatisfiable === when)
    .map((constraint) => compile(pod, constraint));
}

function compile(pod: PodInfo, constraint: TopologySpreadConstraint): SpreadConstraint {
  const selector = compileOrNothing(() => selectorOf(pod, constraint));
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
  const selector = compileLabelSelector(constraint.labelSelector);
  const added = ownValues(pod.pod, constraint.matchLabelKeys, 'in');
  return added.length === 0 || selector === NOTHING
    ? selector
    : compileRequirements([...selector.requirements, ...added]);
}

/** Pods that are going away do not count: their place is about to be free. */
function groupOf(namespace: string, selector: LabelSelectorMatcher): PodGroup {
  return {
    key: `spread\n${namespace}\n${selector === NOTHING ? '!' : `=${selector.text}`}`,
    includes: (placed) => !placed.terminating && placed.namespace === namespace && selector.matches(placed.labels),
  };
}

function defaultConstraints(pod: PodInfo): readonly SpreadConstraint[] {
  const { ownerUid, requiredNodes } = pod;
  const group: PodGroup = {
    key: `owner\n${ownerUid}`,
    includes: (placed) => !placed.terminating && placed.ownerUid === ownerUid,
  };
  const eligible = (node: NodeInfo): boolean => requiredNodes === undefined || requiredNodes(node);
  const common = { group, includesSelf: true, eligible, minDomains: 1 };
  return [
    { ...common, topologyKey: HOSTNAME_LABEL, maxSkew: 3 },
    { ...common, topologyKey: ZONE_LABEL, maxSkew: 5 },
  ];
}
