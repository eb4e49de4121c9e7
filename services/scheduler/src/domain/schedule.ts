import type { Random } from '@holdfast/platform';
import type { Cycle, Snapshot } from '../framework/plugin.ts';
import type { NamedFilter, NodeRejection } from '../framework/prepared.ts';
import type { Profile } from '../framework/profile.ts';
import {
  type ExtensionTimer,
  type PluginTimer,
  type StepStatus,
  statusOfRejection,
  untimed,
} from '../framework/timing.ts';
import { pickBest, totalScores } from './choose-node.ts';
import type { NodeInfo } from './node-info.ts';
import type { NodeResults, SharedRefusal } from './node-results.ts';
import type { PodInfo } from './pod-info.ts';
import { type Prepared, prepareFilters, type Ready } from './prepare-filters.ts';
import { type Search, searchNodes } from './search-nodes.ts';

export type Decision = Placement | Refusal;

export interface Placement {
  readonly kind: 'place';
  readonly nodeName: string;
  /** The number of examined nodes: the next decision starts after them. */
  readonly looked: number;
}

export interface Refusal {
  readonly kind: 'refuse';
  /** Reasons of the examined nodes. */
  readonly rejections: ReadonlyMap<string, NodeRejection>;
  /** The reason for all other nodes. */
  readonly others: NodeRejection | undefined;
  /** Set when the pod itself prevents the check of any node. It replaces the nodes' reasons. */
  readonly podReason: string | undefined;
  /** Plugins that rejected a node: their events trigger another attempt. */
  readonly plugins: ReadonlySet<string>;
  /** The prepared filters, for trials. */
  readonly filters: readonly NamedFilter[];
  /** Shared results of pods with equal needs. */
  readonly results: NodeResults | undefined;
}

export interface ScheduleOptions {
  readonly profile: Profile;
  readonly random: Random;
  /** The start position when only a part of a large cluster is searched. */
  readonly startAt?: number;
  readonly time?: ExtensionTimer;
  /** Present when this decision measures calls of single plugins. */
  readonly plugins?: PluginTimer | undefined;
}

/** The feasible nodes, or the reasons why there are none. */
export type Found =
  | { readonly kind: 'found'; readonly feasible: readonly NodeInfo[]; readonly search: Search }
  | Refusal;

/** Decides about one pod. Pure: the same snapshot, pod and random numbers give the same decision. */
export function schedule(snapshot: Snapshot, pod: PodInfo, options: ScheduleOptions): Decision {
  const cycle: Cycle = { pod, snapshot };
  const found = findFeasible(cycle, options);
  if (found.kind === 'refuse') return found;
  const { feasible, search } = found;
  const totals = feasible.length === 1 ? [0] : totalScores(cycle, feasible, options);
  return { kind: 'place', nodeName: pickBest(feasible, totals, options.random).name, looked: search.looked };
}

export function findFeasible(cycle: Cycle, options: ScheduleOptions): Found {
  const { profile, time = untimed, plugins: timer } = options;
  const prepared = time('PreFilter', () => prepareFilters(cycle, profile.filters, timer), statusOfPrepared);
  if (prepared.kind === 'rejected') return refuseAll(prepared.rejection);
  const results = cycle.snapshot.sharedBy(profile, cycle.pod);
  const known = isShared(prepared, cycle) ? results.refusal : undefined;
  if (known?.version === cycle.snapshot.version) return refusalOf(known, prepared.filters, results);
  const search = time('Filter', () => searchNodes(cycle, prepared, options));
  const { feasible, others, narrowedBy, filters } = search;
  if (feasible.length > 0) return { kind: 'found', feasible, search };
  const rejections = rejectionsOf(search);
  const plugins = new Set(narrowedBy);
  for (const { plugin } of rejections.values()) plugins.add(plugin);
  const told = { version: cycle.snapshot.version, rejections, plugins };
  if (isShared(prepared, cycle)) results.refusal = told;
  return { ...refusalOf(told, filters, results), others };
}

const statusOfPrepared = (prepared: Prepared): StepStatus =>
  statusOfRejection(prepared.kind === 'rejected' ? prepared.rejection : undefined);

/** True when every node was checked on its own: pods with equal needs get the same result until a node changes. */
function isShared({ filters, shared, only }: Ready, { snapshot }: Cycle): boolean {
  return shared === filters.length && only === undefined && !snapshot.anyNominated;
}

function refusalOf(
  { rejections, plugins }: SharedRefusal,
  filters: readonly NamedFilter[],
  results: NodeResults,
): Refusal {
  return { kind: 'refuse', rejections, others: undefined, podReason: undefined, plugins, filters, results };
}

/** By node. */
export function rejectionsOf({ rejected }: Search): Map<string, NodeRejection> {
  return new Map(rejected.map(({ node, rejection }) => [node.name, rejection]));
}

function refuseAll(rejection: NodeRejection): Refusal {
  return {
    kind: 'refuse',
    rejections: new Map(),
    others: rejection,
    podReason: rejection.reasons.join(', '),
    plugins: new Set([rejection.plugin]),
    filters: [],
    results: undefined,
  };
}
