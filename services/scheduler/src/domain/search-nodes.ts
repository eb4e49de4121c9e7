import { invariant } from '@holdfast/platform';
import type { Cycle, Snapshot } from '../framework/plugin.ts';
import { firstRejection, type NamedFilter, type NodeRejection } from '../framework/prepared.ts';
import type { Profile } from '../framework/profile.ts';
import { SEARCH_ALL_NODES_MAX, SEARCH_FEASIBLE_MIN, SEARCH_PERCENT_MIN } from '../limits.ts';
import type { NodeInfo } from './node-info.ts';
import type { NodeResults } from './node-results.ts';
import type { Ready } from './prepare-filters.ts';
import type { ScheduleOptions } from './schedule.ts';
import { Trial } from './trial.ts';

export interface Search {
  readonly feasible: readonly NodeInfo[];
  /** Examined nodes that do not fit. */
  readonly rejected: readonly RejectedNode[];
  readonly others: NodeRejection | undefined;
  /** Plugins that excluded the other nodes. */
  readonly narrowedBy: readonly string[];
  readonly looked: number;
  readonly filters: readonly NamedFilter[];
}

export function searchNodes(
  cycle: Cycle,
  prepared: Ready,
  { profile, startAt = 0 }: Pick<ScheduleOptions, 'profile' | 'startAt'>,
): Search {
  const { filters, only, narrowedBy } = prepared;
  const checks = checksOf(cycle, prepared, profile);
  const rejected: RejectedNode[] = [];
  const nominated = nominatedNode(cycle, checks);
  if (nominated !== undefined) {
    return { feasible: [nominated], rejected, others: undefined, narrowedBy, looked: 0, filters };
  }
  const nodes = only === undefined ? cycle.snapshot.nodes : namedNodes(cycle.snapshot, only);
  const enough = feasibleToFind(nodes.length, profile.percentageOfNodesToScore);
  // Usually no pod is nominated anywhere. Then nominations are not looked up per node.
  const passes = cycle.snapshot.anyNominated ? (node: NodeInfo) => rejectionOf(cycle, node, checks) : checks.check;
  const feasible: NodeInfo[] = [];
  let looked = 0;
  let at = nodes.length === 0 ? 0 : startAt % nodes.length;
  for (; looked < nodes.length && feasible.length < enough; looked++) {
    const node = nodes[at];
    invariant(node !== undefined, 'the search stays within the nodes');
    const rejection = passes(node);
    if (rejection === undefined) feasible.push(node);
    else rejected.push({ node, rejection });
    at = at + 1 === nodes.length ? 0 : at + 1;
  }
  return { feasible, rejected, others: othersOf(narrowedBy), narrowedBy, looked, filters };
}

interface RejectedNode {
  readonly node: NodeInfo;
  readonly rejection: NodeRejection;
}

interface Checks {
  readonly filters: readonly NamedFilter[];
  readonly check: (node: NodeInfo) => NodeRejection | undefined;
  /** Present when every filter depends only on the node: results of equal pods apply to this one. */
  readonly told: NodeResults | undefined;
}

/**
 * Runs filters that depend on more than the node only when the local ones pass. Equal pods share the local result while
 * the node is unchanged.
 */
function checksOf({ pod, snapshot }: Cycle, { filters, shared }: Ready, profile: Profile): Checks {
  const results = snapshot.sharedBy(profile, pod);
  const local = filters.slice(0, shared);
  const rest = filters.slice(shared);
  const checkLocal = (node: NodeInfo): NodeRejection | undefined => firstRejection(local, node);
  return {
    filters,
    check:
      rest.length === 0
        ? (node) => results.rejectionOf(node, checkLocal)
        : (node) => results.rejectionOf(node, checkLocal) ?? firstRejection(rest, node),
    told: rest.length === 0 ? results : undefined,
  };
}

function othersOf(narrowedBy: readonly string[]): NodeRejection | undefined {
  const [plugin] = narrowedBy;
  if (plugin === undefined) return undefined;
  return { plugin, reasons: [`node(s) didn't satisfy plugin(s) [${narrowedBy.join(' ')}]`], resolvable: false };
}

function namedNodes(snapshot: Snapshot, names: ReadonlySet<string>): readonly NodeInfo[] {
  return [...names].flatMap((name) => snapshot.node(name) ?? []);
}

/** The nominated node is tried before all others. */
function nominatedNode(cycle: Cycle, checks: Checks): NodeInfo | undefined {
  const name = cycle.snapshot.nominationOf(cycle.pod);
  const node = name === '' ? undefined : cycle.snapshot.node(name);
  return node !== undefined && rejectionOf(cycle, node, checks) === undefined ? node : undefined;
}

/** Room for nominated pods of higher priority is not free, although they are not there yet. */
function rejectionOf({ pod, snapshot }: Cycle, node: NodeInfo, checks: Checks): NodeRejection | undefined {
  const { filters, check, told } = checks;
  const nominated = snapshot.nominatedOn(node.name);
  if (nominated.length === 0) return check(node);
  const before = nominated.filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);
  if (before.length === 0) return check(node);
  const withThem = (): NodeRejection | undefined => {
    const trial = new Trial(filters, node);
    for (const other of before) trial.add(other);
    return trial.check();
  };
  const isOneOfThem = nominated.some(({ uid }) => uid === pod.uid);
  const rejection =
    told === undefined || isOneOfThem
      ? withThem()
      : told.rejectionWith(node, { nominated, priority: pod.priority }, withThem);
  // Checks without them, too: what they would provide (affinity) is not there yet.
  return rejection ?? check(node);
}

/**
 * Returns all nodes of a small cluster. For a large one it returns a fraction that shrinks with its size, because more
 * choice hardly helps.
 */
export function feasibleToFind(nodes: number, percentage = 0): number {
  if (nodes < SEARCH_ALL_NODES_MAX || percentage >= 100) return nodes;
  const adaptive = Math.max(SEARCH_PERCENT_MIN, 50 - Math.trunc(nodes / 125));
  const percent = percentage === 0 ? adaptive : percentage;
  return Math.max(SEARCH_FEASIBLE_MIN, Math.trunc((nodes * percent) / 100));
}
