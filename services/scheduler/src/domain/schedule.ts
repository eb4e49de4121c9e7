import { invariant, type Random } from '@holdfast/platform';
import type { Cycle, NodeScorer, PreFiltered, Snapshot } from '../framework/plugin.ts';
import { SKIP } from '../framework/plugin.ts';
import { firstRejection, type NamedFilter, type NodeRejection } from '../framework/prepared.ts';
import type { FilterPlugin, Profile } from '../framework/profile.ts';
import { type ExtensionTimer, untimed } from '../framework/timing.ts';
import { SEARCH_ALL_NODES_MAX, SEARCH_FEASIBLE_MIN, SEARCH_PERCENT_MIN } from '../limits.ts';
import type { NodeInfo } from './node-info.ts';
import type { NodeResults } from './node-results.ts';
import type { PodInfo } from './pod-info.ts';
import { Trial } from './trial.ts';

export type Decision = Placement | Refusal;

export interface Placement {
  readonly kind: 'place';
  readonly nodeName: string;
  /** Nodes that were looked at: the next decision starts behind them. */
  readonly looked: number;
}

export interface Refusal {
  readonly kind: 'refuse';
  /** Of the nodes that were looked at. */
  readonly rejections: ReadonlyMap<string, NodeRejection>;
  /** Of all other nodes. */
  readonly others: NodeRejection | undefined;
  /** Set when no node was looked at because of the pod itself: said instead of the nodes' reasons. */
  readonly podReason: string | undefined;
  /** Plugins that rejected some node: their events are worth another try. */
  readonly plugins: ReadonlySet<string>;
  /** What the plugins prepared, for trials. */
  readonly filters: readonly NamedFilter[];
  /** Of pods with equal needs. */
  readonly results: NodeResults | undefined;
}

export interface ScheduleOptions {
  readonly profile: Profile;
  readonly random: Random;
  /** Where to start looking when a large cluster is not searched whole. */
  readonly startAt?: number;
  readonly time?: ExtensionTimer;
}

/** Nodes that pass, or why none does. */
export type Found =
  | { readonly kind: 'found'; readonly feasible: readonly NodeInfo[]; readonly search: Search }
  | Refusal;

/** Decides on one pod. Pure: the same snapshot, pod and random numbers give the same decision. */
export function schedule(snapshot: Snapshot, pod: PodInfo, options: ScheduleOptions): Decision {
  const cycle: Cycle = { pod, snapshot };
  const found = findFeasible(cycle, options);
  if (found.kind === 'refuse') return found;
  const { feasible, search } = found;
  const totals = feasible.length === 1 ? [0] : totalScores(cycle, feasible, options);
  return { kind: 'place', nodeName: pickBest(feasible, totals, options.random).name, looked: search.looked };
}

export function findFeasible(cycle: Cycle, options: ScheduleOptions): Found {
  const { profile, time = untimed } = options;
  const prepared = time('PreFilter', () => prepareFilters(cycle, profile.filters));
  if (prepared.kind === 'rejected') return refuseAll(prepared.rejection);
  const search = time('Filter', () => searchNodes(cycle, prepared, options));
  const { feasible, others, narrowedBy, filters } = search;
  if (feasible.length > 0) return { kind: 'found', feasible, search };
  const rejections = rejectionsOf(search);
  const plugins = new Set(narrowedBy);
  for (const { plugin } of rejections.values()) plugins.add(plugin);
  const results = cycle.snapshot.sharedBy(profile, cycle.pod);
  return { kind: 'refuse', rejections, others, podReason: undefined, plugins, filters, results };
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

type Prepared =
  | { readonly kind: 'rejected'; readonly rejection: NodeRejection }
  | {
      readonly kind: 'ready';
      readonly filters: readonly NamedFilter[];
      /** How many of the first filters pods with equal needs share. */
      readonly shared: number;
      readonly only: ReadonlySet<string> | undefined;
      readonly narrowedBy: readonly string[];
    };

type Ready = Extract<Prepared, { kind: 'ready' }>;

/** Asks every plugin once. Those that have nothing to check take no further part in the decision. */
export function prepareFilters(cycle: Cycle, plugins: readonly FilterPlugin[]): Prepared {
  const filters: NamedFilter[] = [];
  const narrowedBy: string[] = [];
  let shared = 0;
  let only: ReadonlySet<string> | undefined;
  for (const plugin of plugins) {
    const prepared = preparedBy(plugin, cycle);
    if (prepared.kind === 'skip') continue;
    if (prepared.kind === 'reject') {
      return { kind: 'rejected', rejection: { plugin: plugin.name, ...prepared.rejection } };
    }
    if (prepared.only !== undefined) {
      narrowedBy.push(plugin.name);
      only = only === undefined ? prepared.only : only.intersection(prepared.only);
    }
    if (plugin.runs === 'preFilter only') continue;
    const { check, fork } = prepared;
    if (plugin.local) shared++;
    filters.push({ plugin: plugin.name, check, local: plugin.local, ...(fork === undefined ? {} : { fork }) });
  }
  if (only?.size === 0) return { kind: 'rejected', rejection: nothingLeft(narrowedBy) };
  return { kind: 'ready', filters, shared, only, narrowedBy };
}

function preparedBy({ name, call, runs }: FilterPlugin, cycle: Cycle): PreFiltered {
  if (runs !== 'filter only') return call(cycle) ?? SKIP;
  throw new Error(`running "${name}" filter plugin: reading "PreFilter${name}" from cycleState: not found`);
}

function nothingLeft(plugins: readonly string[]): NodeRejection {
  const [only = ''] = plugins;
  const names = plugins.length === 1 ? ` ${only}` : `(s) [${plugins.join(' ')}] simultaneously`;
  return { plugin: plugins.at(-1) ?? '', reasons: [`node(s) didn't satisfy plugin${names}`], resolvable: false };
}

export interface Search {
  readonly feasible: readonly NodeInfo[];
  /** Nodes that were looked at in vain. */
  readonly rejected: readonly RejectedNode[];
  readonly others: NodeRejection | undefined;
  /** Plugins that took the others out of the question. */
  readonly narrowedBy: readonly string[];
  readonly looked: number;
  readonly filters: readonly NamedFilter[];
}

interface RejectedNode {
  readonly node: NodeInfo;
  readonly rejection: NodeRejection;
}

function searchNodes(cycle: Cycle, prepared: Ready, { profile, startAt = 0 }: ScheduleOptions): Search {
  const { filters, only, narrowedBy } = prepared;
  const check = checkOf(cycle, prepared, profile);
  const rejected: RejectedNode[] = [];
  const nominated = nominatedNode(cycle, filters, check);
  if (nominated !== undefined) {
    return { feasible: [nominated], rejected, others: undefined, narrowedBy, looked: 0, filters };
  }
  const nodes = only === undefined ? cycle.snapshot.nodes : namedNodes(cycle.snapshot, only);
  const enough = feasibleToFind(nodes.length, profile.percentageOfNodesToScore);
  const feasible: NodeInfo[] = [];
  let looked = 0;
  for (; looked < nodes.length && feasible.length < enough; looked++) {
    const node = nodes[(startAt + looked) % nodes.length];
    invariant(node !== undefined, 'the search stays within the nodes', { startAt, looked });
    const rejection = rejectionOf(cycle, node, { filters, check });
    if (rejection === undefined) feasible.push(node);
    else rejected.push({ node, rejection });
  }
  return { feasible, rejected, others: othersOf(narrowedBy), narrowedBy, looked, filters };
}

type Check = (node: NodeInfo) => NodeRejection | undefined;

/** Asks what depends on more than the node only where the rest passes, which is known from equal pods as long as the node did not change. */
function checkOf({ pod, snapshot }: Cycle, { filters, shared }: Ready, profile: Profile): Check {
  const results = snapshot.sharedBy(profile, pod);
  const local = filters.slice(0, shared);
  const rest = filters.slice(shared);
  const checkLocal: Check = (node) => firstRejection(local, node);
  return (node) => results.rejectionOf(node, checkLocal) ?? firstRejection(rest, node);
}

function othersOf(narrowedBy: readonly string[]): NodeRejection | undefined {
  const [plugin] = narrowedBy;
  if (plugin === undefined) return undefined;
  return { plugin, reasons: [`node(s) didn't satisfy plugin(s) [${narrowedBy.join(' ')}]`], resolvable: false };
}

function namedNodes(snapshot: Snapshot, names: ReadonlySet<string>): readonly NodeInfo[] {
  return [...names].flatMap((name) => snapshot.node(name) ?? []);
}

/** Room that was made for the pod is taken before others are asked. */
function nominatedNode(cycle: Cycle, filters: readonly NamedFilter[], check: Check): NodeInfo | undefined {
  const name = cycle.snapshot.nominationOf(cycle.pod);
  const node = name === '' ? undefined : cycle.snapshot.node(name);
  return node !== undefined && rejectionOf(cycle, node, { filters, check }) === undefined ? node : undefined;
}

/** Room that is being made for more important pods is not free, though nobody is there yet. */
function rejectionOf(
  cycle: Cycle,
  node: NodeInfo,
  { filters, check }: { readonly filters: readonly NamedFilter[]; readonly check: Check },
): NodeRejection | undefined {
  const { pod, snapshot } = cycle;
  const nominated = snapshot.nominatedOn(node.name);
  if (nominated.length === 0) return check(node);
  const before = nominated.filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);
  if (before.length === 0) return check(node);
  const trial = new Trial(filters, node);
  for (const other of before) trial.add(other);
  // Without them as well: what they bring (affinity) is not there yet.
  return trial.check() ?? check(node);
}

/** All of a small cluster; of a large one a share that shrinks with its size, because more choice hardly helps. */
export function feasibleToFind(nodes: number, percentage = 0): number {
  if (nodes < SEARCH_ALL_NODES_MAX || percentage >= 100) return nodes;
  const adaptive = Math.max(SEARCH_PERCENT_MIN, 50 - Math.trunc(nodes / 125));
  const percent = percentage === 0 ? adaptive : percentage;
  return Math.max(SEARCH_FEASIBLE_MIN, Math.trunc((nodes * percent) / 100));
}

/** Ties are drawn. */
export function pickBest(feasible: readonly NodeInfo[], totals: readonly number[], random: Random): NodeInfo {
  const [first] = feasible;
  invariant(first !== undefined, 'a choice needs a feasible node');
  if (feasible.length === 1) return first;
  let highest = Number.NEGATIVE_INFINITY;
  let equals: NodeInfo[] = [];
  for (let i = 0; i < feasible.length; i++) {
    const total = totals[i] ?? 0;
    const node = feasible[i] ?? first;
    if (total > highest) {
      highest = total;
      equals = [node];
    } else if (total === highest) equals.push(node);
  }
  return equals[random.int(equals.length)] ?? first;
}

export function totalScores(
  cycle: Cycle,
  feasible: readonly NodeInfo[],
  { profile, time = untimed }: Pick<ScheduleOptions, 'profile' | 'time'>,
): number[] {
  const scorers = time('PreScore', () =>
    profile.scorers.flatMap(({ call, weight, local }) => {
      const scorer = call(cycle, feasible);
      return scorer === undefined ? [] : [{ scorer, weight, local }];
    }),
  );
  return time('Score', () => {
    const totals = sharedScores(cycle, feasible, { profile, scorers: scorers.filter(({ local }) => local) });
    for (const { scorer, weight, local } of scorers) {
      if (local) continue;
      const scores = feasible.map((node) => scorer.score(node));
      scorer.normalize?.(scores, feasible);
      for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    }
    return totals;
  });
}

interface Weighted {
  readonly scorer: NodeScorer;
  readonly weight: number;
}

/** What equal pods found is true until the node changes. */
function sharedScores(
  { pod, snapshot }: Cycle,
  feasible: readonly NodeInfo[],
  { profile, scorers }: { readonly profile: Profile; readonly scorers: readonly Weighted[] },
): number[] {
  const results = snapshot.sharedBy(profile, pod);
  const score = (node: NodeInfo): number => {
    let total = 0;
    for (const { scorer, weight } of scorers) total += weight * scorer.score(node);
    return total;
  };
  return feasible.map((node) => results.scoreOf(node, score));
}
