import { podCondition } from '@holdfast/api';
import type { PostFilterContext, PostFiltered } from '../framework/plugin.ts';
import type { NamedFilter, NodeRejection } from '../framework/prepared.ts';
import { Budgets } from './budgets.ts';
import { trialMessage } from './fit-message.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import type { Refusal } from './schedule.ts';
import { Trial } from './trial.ts';

export interface Candidate {
  readonly nodeName: string;
  readonly victims: readonly PodInfo[];
  /** Victims whose disruption budget is exhausted. */
  readonly violations: number;
}

/** How many nodes are tried before the best one is chosen: at least `absolute`, or this percentage of the cluster. */
export interface CandidateLimits {
  readonly percentage: number;
  readonly absolute: number;
}

type Finding = { readonly reasons: readonly string[] };
/** The result of trying one node. */
export type Tried = Candidate | Finding;

/**
 * Finds pods of lower priority on one node whose removal makes room for a pod that fits nowhere: as few and as
 * unimportant as possible. Pure: the caller requests their graceful deletion.
 */
export function findCandidates(context: PostFilterContext, limits: CandidateLimits): PostFiltered {
  const { pod, snapshot, refusal } = context;
  const ineligible = whyIneligible(context);
  if (ineligible !== undefined) {
    return { kind: 'none', message: `preemption: not eligible due to ${ineligible}.`, keeps: true };
  }
  const shared = isShared(context) ? refusal.results?.trials : undefined;
  const known = shared?.inVain(snapshot.version, pod.priority);
  if (known !== undefined) return { kind: 'none', message: known, keeps: false };
  const { candidates, findings } = tryNodes(context, limits);
  if (candidates.length > 0) return { kind: 'candidates', candidates };
  const message = `preemption: ${trialMessage(snapshot.nodes.length, findings)}`;
  shared?.noteVain({ version: snapshot.version, priority: pod.priority, message });
  return { kind: 'none', message, keeps: false };
}

/**
 * The pod shares its result with equal pods, and that result is still valid: no extender and no other pod affected it.
 */
function isShared({ snapshot, refusal }: PostFilterContext): boolean {
  const told = refusal.results?.refusal;
  return told?.rejections === refusal.rejections && told.version === snapshot.version && !snapshot.anyNominated;
}

interface TriedNodes {
  readonly candidates: readonly Candidate[];
  readonly findings: readonly Finding[];
}

function tryNodes(context: PostFilterContext, limits: CandidateLimits): TriedNodes {
  const { pod, snapshot, refusal, filters, random } = context;
  const { nodes } = snapshot;
  const enough = candidatesToFind(context, limits);
  const isLocal = filters.every(({ local }) => local);
  const budgets = new Budgets(context.budgets);
  const findings: Finding[] = [];
  const candidates: Candidate[] = [];
  let breaksNoBudget = false;
  const startAt = nodes.length === 0 ? 0 : random.int(nodes.length);
  for (let i = 0; i < nodes.length && !(breaksNoBudget && candidates.length >= enough); i++) {
    const node = nodes[(startAt + i) % nodes.length];
    if (node === undefined) continue;
    const found = tryShared(node, { pod, refusal, filters, budgets, isLocal, nominated: promisedOn(node, context) });
    if ('victims' in found) {
      candidates.push(found);
      breaksNoBudget ||= found.violations === 0;
    } else findings.push(found);
  }
  return { candidates, findings };
}

/** A fraction of the nodes on which preemption can help. */
function candidatesToFind({ snapshot, refusal }: PostFilterContext, { absolute, percentage }: CandidateLimits): number {
  let helpful = 0;
  for (const { name } of snapshot.nodes) if (rejectionOf(refusal, name)?.resolvable === true) helpful++;
  return Math.max(absolute, Math.trunc((helpful * percentage) / 100));
}

function whyIneligible({ pod, snapshot, refusal }: PostFilterContext): string | undefined {
  if (pod.pod.spec.preemptionPolicy === 'Never') return 'preemptionPolicy=Never';
  const nominated = snapshot.nominationOf(pod);
  if (nominated === '' || rejectionOf(refusal, nominated)?.resolvable === false) return undefined;
  return isBeingCleared(snapshot.node(nominated), pod) ? 'a terminating pod on the nominated node' : undefined;
}

/** True while less important preempted pods are still terminating. */
export const isBeingCleared = (node: NodeInfo | undefined, pod: PodInfo): boolean =>
  lowerPriority(node, pod).some((each) => each.terminating && wasPreempted(each));

function rejectionOf(refusal: Refusal, nodeName: string): NodeRejection | undefined {
  return refusal.rejections.get(nodeName) ?? refusal.others;
}

function wasPreempted({ pod }: PodInfo): boolean {
  const disruption = podCondition(pod, 'DisruptionTarget');
  return disruption?.status === 'True' && disruption.reason === 'PreemptionByScheduler';
}

interface Try {
  readonly pod: PodInfo;
  readonly refusal: Refusal;
  readonly filters: readonly NamedFilter[];
  readonly budgets: Budgets;
  /** True when every filter depends only on the node. */
  readonly isLocal: boolean;
  /** Other nominated pods on the same node that are not less important. */
  readonly nominated: readonly PodInfo[];
}

const NOT_HELPFUL: Finding = { reasons: ['Preemption is not helpful for scheduling'] };
const NO_VICTIMS: Finding = { reasons: ['No preemption victims found for incoming pod'] };

function promisedOn({ name }: NodeInfo, { pod, snapshot }: PostFilterContext): readonly PodInfo[] {
  const nominated = snapshot.nominatedOn(name);
  return nominated.length === 0
    ? nominated
    : nominated.filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);
}

/**
 * Returns the victims on this node, or why there are none. Equal pods share the result when only node and pod matter.
 */
function tryShared(node: NodeInfo, attempt: Try): Tried {
  const { pod, refusal, budgets, isLocal, nominated } = attempt;
  if (rejectionOf(refusal, node.name)?.resolvable !== true) return NOT_HELPFUL;
  const tryIt = (): Tried => {
    refusal.results?.noteTrial();
    return tryNode(node, attempt);
  };
  const shared = isLocal && nominated.length === 0 && !budgets.concernAnyOn(node);
  return shared && refusal.results !== undefined ? refusal.results.trials.of(node, pod.priority, tryIt) : tryIt();
}

function tryNode(node: NodeInfo, { pod, filters, budgets, nominated }: Try): Tried {
  const removable = lowerPriority(node, pod);
  if (removable.length === 0) return NO_VICTIMS;
  const trials = createTrials(node, filters, nominated);
  for (const trial of trials) for (const each of removable) trial.remove(each);
  const still = firstOf(trials);
  if (still !== undefined) return still;
  const { violating, others } = budgets.split(byImportance(removable));
  const spare = (each: PodInfo): boolean => {
    for (const trial of trials) trial.add(each);
    if (firstOf(trials) === undefined) return true;
    for (const trial of trials) trial.remove(each);
    return false;
  };
  const violations = violating.filter((each) => !spare(each));
  const victims = byImportance([...violations, ...others.filter((each) => !spare(each))]);
  return { nodeName: node.name, victims, violations: violations.length };
}

/** The pod must fit with and without the nominated pods of higher priority. */
function createTrials(node: NodeInfo, filters: readonly NamedFilter[], promised: readonly PodInfo[]): readonly Trial[] {
  const without = new Trial(filters, node);
  if (promised.length === 0) return [without];
  const withPromised = new Trial(filters, node);
  for (const other of promised) withPromised.add(other);
  return [withPromised, without];
}

function firstOf(trials: readonly Trial[]): NodeRejection | undefined {
  for (const trial of trials) {
    const rejection = trial.check();
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function lowerPriority(node: NodeInfo | undefined, pod: PodInfo): readonly PodInfo[] {
  return [...(node?.pods.values() ?? [])].filter((placed) => placed.priority < pod.priority);
}

/**
 * Orders by higher priority, then by earlier start. Of pods that have not started, the last one is spared first:
 * Kubernetes gives each of them the time of the comparison, which reverses their order.
 */
function byImportance(pods: readonly PodInfo[]): readonly PodInfo[] {
  const started = pods.filter((pod) => startOf(pod) !== NOT_STARTED);
  const waiting = pods.filter((pod) => startOf(pod) === NOT_STARTED).reverse();
  return [...started, ...waiting].toSorted((a, b) => b.priority - a.priority || compareText(startOf(a), startOf(b)));
}

/** Makes every priority in a sum positive, so that fewer victims have a smaller sum. */
const PRIORITY_OFFSET = 2 ** 31;

/** Each criterion decides only among candidates that are equal in all earlier ones; lower is better. */
const CRITERIA: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => victims[0]?.priority ?? Number.NEGATIVE_INFINITY,
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + PRIORITY_OFFSET, 0),
  ({ victims }) => victims.length,
];

export function pickCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  let best = candidates;
  for (const criterion of CRITERIA) best = lowest(best, criterion);
  const latest = best.map(earliestStart).toSorted(compareText).at(-1);
  return best.find((candidate) => earliestStart(candidate) === latest);
}

function lowest(candidates: readonly Candidate[], of: (candidate: Candidate) => number): readonly Candidate[] {
  let least = Number.POSITIVE_INFINITY;
  let those: Candidate[] = [];
  for (const candidate of candidates) {
    const value = of(candidate);
    if (value > least) continue;
    if (value < least) those = [];
    least = value;
    those.push(candidate);
  }
  return those;
}

/** The earliest start among the most important victims. */
function earliestStart({ victims }: Candidate): string {
  const important = victims.filter(({ priority }) => priority === victims[0]?.priority);
  return important.map(startOf).toSorted(compareText)[0] ?? '';
}

/** A pod that has not started counts as the latest: any time sorts before this text. */
const NOT_STARTED = 'not yet';

const startOf = ({ pod }: PodInfo): string => pod.status.startTime ?? NOT_STARTED;

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
