import type { PodDisruptionBudget } from '@holdfast/api';
import { compileLabelSelector } from '@holdfast/machinery';
import type { Random } from '@holdfast/platform';
import type { Plugin, Snapshot } from '../framework/plugin.ts';
import { PREEMPTION_CANDIDATES_MIN, PREEMPTION_CANDIDATES_PERCENT } from '../limits.ts';
import { fitMessage } from './fit-message.ts';
import type { NodeInfo } from './node-info.ts';
import { compileOrNothing } from './pod-affinity.ts';
import type { PodInfo } from './pod-info.ts';
import { firstRejection, type NodeRejection, prepareFilters, type Refusal } from './schedule.ts';
import { createTrial, type Trial } from './trial.ts';

export type Preemption =
  | { readonly kind: 'preempt'; readonly nodeName: string; readonly victims: readonly PodInfo[] }
  /** `message` ends the FailedScheduling message of the pod; `keeps` tells whether a nomination from before still holds. */
  | { readonly kind: 'none'; readonly message: string; readonly keeps: boolean };

export interface PreemptionOptions {
  readonly plugins: readonly Plugin[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly random: Random;
}

export interface Candidate {
  readonly nodeName: string;
  readonly victims: readonly PodInfo[];
  /** Victims whose disruption budget is used up. */
  readonly violations: number;
}

/**
 * Which pods of lower priority, all on one node, make room for a pod that fits nowhere; as few and as unimportant ones as
 * possible. Pure: the shell asks the API for their graceful deletion.
 */
export function preempt(snapshot: Snapshot, pod: PodInfo, refusal: Refusal, options: PreemptionOptions): Preemption {
  const ineligible = whyIneligible(snapshot, pod, refusal);
  if (ineligible !== undefined)
    return { kind: 'none', message: `preemption: not eligible due to ${ineligible}.`, keeps: true };
  const findings: { readonly reasons: readonly string[] }[] = [];
  const candidates: Candidate[] = [];
  const { nodes } = snapshot;
  const enough = Math.max(PREEMPTION_CANDIDATES_MIN, Math.trunc((nodes.length * PREEMPTION_CANDIDATES_PERCENT) / 100));
  const startAt = nodes.length === 0 ? 0 : options.random.int(nodes.length);
  for (let i = 0; i < nodes.length && candidates.length < enough; i++) {
    const node = nodes[(startAt + i) % nodes.length];
    if (node === undefined) continue;
    const found = tryNode(snapshot, node, { pod, rejection: refusal.rejections.get(node.name), options });
    if ('victims' in found) candidates.push(found);
    else findings.push(found);
  }
  const best = pickCandidate(candidates);
  if (best === undefined) {
    return { kind: 'none', message: `preemption: ${fitMessage(nodes.length, findings)}`, keeps: false };
  }
  return { kind: 'preempt', nodeName: best.nodeName, victims: best.victims };
}

function whyIneligible(snapshot: Snapshot, pod: PodInfo, refusal: Refusal): string | undefined {
  if (pod.pod.spec.preemptionPolicy === 'Never') return 'preemptionPolicy=Never';
  const nominated = snapshot.nominationOf(pod);
  if (nominated === '' || refusal.rejections.get(nominated)?.resolvable === false) return undefined;
  const waiting = lowerPriority(snapshot.node(nominated), pod).some((each) => each.terminating && wasPreempted(each));
  return waiting ? 'a terminating pod on the nominated node' : undefined;
}

function wasPreempted({ pod }: PodInfo): boolean {
  return (pod.status.conditions ?? []).some(
    ({ type, status, reason }) =>
      type === 'DisruptionTarget' && status === 'True' && reason === 'PreemptionByScheduler',
  );
}

interface Try {
  readonly pod: PodInfo;
  readonly rejection: NodeRejection | undefined;
  readonly options: PreemptionOptions;
}

/** The victims on this node, or why there are none. */
function tryNode(
  snapshot: Snapshot,
  node: NodeInfo,
  { pod, rejection, options }: Try,
): Candidate | { readonly reasons: readonly string[] } {
  if (rejection?.resolvable !== true) return { reasons: ['Preemption is not helpful for scheduling'] };
  const removable = lowerPriority(node, pod);
  if (removable.length === 0) return { reasons: ['No preemption victims found for incoming pod'] };
  const trial = createTrial(snapshot, node);
  for (const each of removable) trial.remove(each);
  const still = check(trial, pod, options.plugins);
  if (still !== undefined) return { reasons: still.reasons };
  const { violating, others } = splitByBudget(removable.toSorted(byImportance), options.budgets);
  const spare = (each: PodInfo): boolean => {
    trial.add(each);
    if (check(trial, pod, options.plugins) === undefined) return true;
    trial.remove(each);
    return false;
  };
  const violations = violating.filter((each) => !spare(each));
  const victims = [...violations, ...others.filter((each) => !spare(each))].toSorted(byImportance);
  return { nodeName: node.name, victims, violations: violations.length };
}

function check(trial: Trial, pod: PodInfo, plugins: readonly Plugin[]): NodeRejection | undefined {
  return firstRejection(prepareFilters({ pod, snapshot: trial }, plugins), trial.tried);
}

function lowerPriority(node: NodeInfo | undefined, pod: PodInfo): readonly PodInfo[] {
  return [...(node?.pods.values() ?? [])].filter((placed) => placed.priority < pod.priority);
}

/** Higher priority first, then who runs longer. */
function byImportance(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || compareText(startOf(a), startOf(b)) || compareText(a.key, b.key);
}

function splitByBudget(pods: readonly PodInfo[], budgets: readonly PodDisruptionBudget[]) {
  const left = budgets.map((budget) => ({
    budget,
    allowed: budget.status.disruptionsAllowed,
    selector: compileOrNothing(() => compileLabelSelector(budget.spec.selector)),
  }));
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const pod of pods) {
    const matching = left.filter(
      ({ budget, selector }) =>
        budget.metadata.namespace === pod.namespace &&
        selector.matches(pod.labels) &&
        budget.status.disruptedPods?.[pod.name] === undefined,
    );
    for (const each of matching) each.allowed--;
    (matching.some((each) => each.allowed < 0) ? violating : others).push(pod);
  }
  return { violating, others };
}

/** What makes every priority of a sum count as positive, so that fewer victims sum up to less. */
const PRIORITY_OFFSET = 2 ** 31;

/** Each criterion decides only among those that are equal in all before it; lower is better. */
const CRITERIA: readonly ((candidate: Candidate) => number | string)[] = [
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

function lowest(candidates: readonly Candidate[], of: (candidate: Candidate) => number | string): readonly Candidate[] {
  const values = candidates.map(of);
  const least = values.toSorted((a, b) => (a < b ? -1 : Number(a > b)))[0];
  return candidates.filter((_, i) => values[i] === least);
}

/** Start of the longest running among the most important victims. */
function earliestStart({ victims }: Candidate): string {
  const important = victims.filter(({ priority }) => priority === victims[0]?.priority);
  return important.map(startOf).toSorted(compareText)[0] ?? '';
}

function startOf({ pod }: PodInfo): string {
  return pod.status.startTime ?? pod.metadata.creationTimestamp ?? '';
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
