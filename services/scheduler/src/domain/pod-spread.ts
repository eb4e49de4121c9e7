import {
  compileRequiredNodes,
  firstUntolerated,
  HARD_EFFECTS,
  type Pod,
  type TopologySpreadConstraint,
} from '@holdfast/api';
import {
  compileLabelSelector,
  compileRequirements,
  type LabelSelectorMatcher,
  NOTHING,
  SelectorError,
} from '@holdfast/machinery';
import type { DomainView } from './domain-counts.ts';
import { pairOf } from './label-pair.ts';
import type { PodGroup } from './match-counts.ts';
import type { NodeInfo } from './node-info.ts';
import { ownValues } from './pod-affinity.ts';
import type { PodInfo } from './pod-info.ts';

export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly group: PodGroup;
  /** Uses only selector and namespace; includes terminating pods. */
  readonly selects: (pod: PodInfo) => boolean;
  /** True when the incoming pod counts itself. */
  readonly includesSelf: boolean;
  /** The nodes whose domains and pods take part. */
  readonly view: DomainView;
}

export interface SpreadConstraints {
  readonly constraints: readonly SpreadConstraint[];
  /** True when a node takes part: it has all keys, where required. */
  readonly takesPart: (node: NodeInfo) => boolean;
}

export type Action = 'DoNotSchedule' | 'ScheduleAnyway';

/** The pod's own constraints, compiled on arrival. */
export interface PodSpread {
  readonly isOwn: boolean;
  /** Why a selector of the pod cannot be used: no decision on the pod is possible. */
  readonly mistake?: string;
  readonly DoNotSchedule: SpreadConstraints;
  readonly ScheduleAnyway: SpreadConstraints;
}

export const NO_CONSTRAINTS: SpreadConstraints = { constraints: [], takesPart: () => true };
const NO_SPREAD: PodSpread = { isOwn: false, DoNotSchedule: NO_CONSTRAINTS, ScheduleAnyway: NO_CONSTRAINTS };

export function compilePodSpread(pod: Pod): PodSpread {
  const own = pod.spec.topologySpreadConstraints ?? [];
  if (own.length === 0) return NO_SPREAD;
  const compile = (action: Action): SpreadConstraints => {
    const chosen = own.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action);
    return compileConstraints(pod, chosen, { selectorOf: (each) => selectorOf(pod, each), requireAllKeys: true });
  };
  try {
    return { isOwn: true, DoNotSchedule: compile('DoNotSchedule'), ScheduleAnyway: compile('ScheduleAnyway') };
  } catch (error) {
    if (error instanceof SelectorError) return { ...NO_SPREAD, isOwn: true, mistake: error.message };
    throw error;
  }
}

export interface SpreadRules {
  readonly selectorOf: (constraint: TopologySpreadConstraint) => LabelSelectorMatcher;
  /** Excludes nodes that lack one of the keys; false for the built-in defaults. */
  readonly requireAllKeys: boolean;
}

export function compileConstraints(
  pod: Pod,
  constraints: readonly TopologySpreadConstraint[],
  { selectorOf, requireAllKeys }: SpreadRules,
): SpreadConstraints {
  if (constraints.length === 0) return NO_CONSTRAINTS;
  const keys = requireAllKeys ? constraints.map(({ topologyKey }) => topologyKey) : [];
  const takesPart = (node: NodeInfo): boolean => keys.every((key) => Object.hasOwn(node.labels, key));
  const { namespace = '' } = pod.metadata;
  const compiled = constraints.map((constraint): SpreadConstraint => {
    const selector = selectorOf(constraint);
    const selects = (other: PodInfo): boolean => other.namespace === namespace && selector.matches(other.labels);
    return {
      topologyKey: constraint.topologyKey,
      maxSkew: constraint.maxSkew,
      minDomains: constraint.minDomains ?? 1,
      group: groupOf(namespace, selector, selects),
      selects,
      includesSelf: selector.matches(pod.metadata.labels ?? {}),
      view: viewOf(pod, constraint, { keys, takesPart }),
    };
  });
  return { constraints: compiled, takesPart };
}

function viewOf(
  { spec }: Pod,
  { topologyKey, nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
  { keys, takesPart }: { readonly keys: readonly string[]; readonly takesPart: (node: NodeInfo) => boolean },
): DomainView {
  const honorsAffinity = nodeAffinityPolicy !== 'Ignore';
  const honorsTaints = nodeTaintsPolicy === 'Honor';
  const required = honorsAffinity ? compileRequiredNodes({ spec }) : undefined;
  const tolerations = spec.tolerations ?? [];
  const affinity = required === undefined ? undefined : [spec.nodeSelector, spec.affinity?.nodeAffinity];
  return {
    key: JSON.stringify([topologyKey, keys, affinity, honorsTaints ? tolerations : undefined]),
    topologyKey,
    counted: (node) =>
      takesPart(node) &&
      (required === undefined || required(node)) &&
      (!honorsTaints || firstUntolerated(node.taints, tolerations, HARD_EFFECTS) === undefined),
  };
}

function selectorOf(pod: Pod, constraint: TopologySpreadConstraint): LabelSelectorMatcher {
  const selector = compileLabelSelector(constraint.labelSelector);
  const added = ownValues(pod, constraint.matchLabelKeys, 'in');
  return added.length === 0 || selector === NOTHING
    ? selector
    : compileRequirements([...selector.requirements, ...added]);
}

/** Terminating pods do not count: their room will be free soon. */
function groupOf(namespace: string, selector: LabelSelectorMatcher, selects: SpreadConstraint['selects']): PodGroup {
  return {
    key: `spread\n${namespace}\n${selector === NOTHING ? '!' : `=${selector.text}`}`,
    namespace,
    pair: pairOf(selector),
    includes: (placed) => !placed.terminating && selects(placed),
  };
}
