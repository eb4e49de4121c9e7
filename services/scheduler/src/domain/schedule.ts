import { invariant, type Random } from '@holdfast/platform';
import type { Cycle, NodeFilter, Plugin, Rejection, Snapshot } from '../framework/plugin.ts';
import { SEARCH_ALL_NODES_MAX, SEARCH_FEASIBLE_MIN, SEARCH_PERCENT_MIN } from '../limits.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import { createTrial } from './trial.ts';

export type Decision = Placement | Refusal;

export interface Placement {
  readonly kind: 'place';
  readonly nodeName: string;
  /** Nodes that were looked at: the next decision starts behind them. */
  readonly looked: number;
}

export interface Refusal {
  readonly kind: 'refuse';
  readonly rejections: ReadonlyMap<string, NodeRejection>;
  /** Plugins that rejected some node: their events are worth another try. */
  readonly plugins: ReadonlySet<string>;
}

export interface NodeRejection extends Rejection {
  readonly plugin: string;
}

export interface ScheduleOptions {
  readonly plugins: readonly Plugin[];
  readonly random: Random;
  /** Where to start looking when a large cluster is not searched whole. */
  readonly startAt?: number;
}

/** Decides on one pod. Pure: the same snapshot, pod and random numbers give the same decision. */
export function schedule(snapshot: Snapshot, pod: PodInfo, options: ScheduleOptions): Decision {
  const cycle: Cycle = { pod, snapshot };
  if (nominatedNodeFits(cycle, options)) {
    return { kind: 'place', nodeName: snapshot.nominationOf(pod), looked: 0 };
  }
  const search = findFeasible(cycle, options);
  if (search.feasible.length === 0) return { kind: 'refuse', rejections: search.rejections, plugins: search.plugins };
  const node = best(cycle, search.feasible, options);
  return { kind: 'place', nodeName: node.name, looked: search.looked };
}

/** Room that was made for the pod is taken before others are asked. */
function nominatedNodeFits(cycle: Cycle, { plugins }: ScheduleOptions): boolean {
  const { pod, snapshot } = cycle;
  const node = snapshot.node(snapshot.nominationOf(pod));
  if (node === undefined) return false;
  const rejection = firstRejection(prepareFilters(cycle, plugins), node);
  return rejection === undefined && rejectionWithNominated(cycle, node, plugins) === undefined;
}

export interface NamedFilter {
  readonly plugin: string;
  readonly filter: NodeFilter;
}

export function prepareFilters(cycle: Cycle, plugins: readonly Plugin[]): readonly NamedFilter[] {
  return plugins.flatMap((plugin) => {
    const filter = plugin.filter?.(cycle);
    return filter === undefined ? [] : [{ plugin: plugin.name, filter }];
  });
}

export function firstRejection(filters: readonly NamedFilter[], node: NodeInfo): NodeRejection | undefined {
  for (const { plugin, filter } of filters) {
    const rejection = filter(node);
    if (rejection !== undefined) return { plugin, ...rejection };
  }
  return undefined;
}

interface Search {
  readonly feasible: readonly NodeInfo[];
  readonly rejections: ReadonlyMap<string, NodeRejection>;
  readonly plugins: ReadonlySet<string>;
  readonly looked: number;
}

function findFeasible(cycle: Cycle, { plugins, startAt = 0 }: ScheduleOptions): Search {
  const { nodes } = cycle.snapshot;
  const filters = prepareFilters(cycle, plugins);
  const enough = feasibleToFind(nodes.length);
  const feasible: NodeInfo[] = [];
  const rejections = new Map<string, NodeRejection>();
  const rejecting = new Set<string>();
  let looked = 0;
  for (; looked < nodes.length && feasible.length < enough; looked++) {
    const node = nodes[(startAt + looked) % nodes.length];
    invariant(node !== undefined, 'the search stays within the nodes', { startAt, looked });
    const rejection = firstRejection(filters, node) ?? rejectionWithNominated(cycle, node, plugins);
    if (rejection === undefined) feasible.push(node);
    else {
      rejections.set(node.name, rejection);
      rejecting.add(rejection.plugin);
    }
  }
  return { feasible, rejections, plugins: rejecting, looked };
}

/** Room that is being made for more important pods is not free, though nobody is there yet. */
function rejectionWithNominated(cycle: Cycle, node: NodeInfo, plugins: readonly Plugin[]): NodeRejection | undefined {
  const { pod, snapshot } = cycle;
  const nominated = snapshot
    .nominatedOn(node.name)
    .filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);
  if (nominated.length === 0) return undefined;
  const trial = createTrial(snapshot, node);
  for (const other of nominated) trial.add(other);
  return firstRejection(prepareFilters({ pod, snapshot: trial }, plugins), trial.tried);
}

/** All of a small cluster; of a large one a share that shrinks with its size, because more choice hardly helps. */
export function feasibleToFind(nodes: number): number {
  if (nodes < SEARCH_ALL_NODES_MAX) return nodes;
  const percent = Math.max(SEARCH_PERCENT_MIN, 50 - Math.trunc(nodes / 125));
  return Math.max(SEARCH_FEASIBLE_MIN, Math.trunc((nodes * percent) / 100));
}

function best(cycle: Cycle, feasible: readonly NodeInfo[], { plugins, random }: ScheduleOptions): NodeInfo {
  const [first] = feasible;
  invariant(first !== undefined, 'a choice needs a feasible node');
  if (feasible.length === 1) return first;
  const totals = totalScores(cycle, feasible, plugins);
  let highest = Number.NEGATIVE_INFINITY;
  let equals: NodeInfo[] = [];
  for (const [i, node] of feasible.entries()) {
    const total = totals[i] ?? 0;
    if (total > highest) {
      highest = total;
      equals = [node];
    } else if (total === highest) equals.push(node);
  }
  return equals[random.int(equals.length)] ?? first;
}

export function totalScores(cycle: Cycle, feasible: readonly NodeInfo[], plugins: readonly Plugin[]): number[] {
  const totals = feasible.map(() => 0);
  for (const plugin of plugins) {
    const scorer = plugin.score?.(cycle, feasible);
    if (scorer === undefined) continue;
    const scores = feasible.map((node) => scorer.score(node));
    scorer.normalize?.(scores, feasible);
    const weight = plugin.weight ?? 1;
    for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
  }
  return totals;
}
