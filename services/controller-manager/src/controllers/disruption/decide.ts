import {
  type Condition,
  isPodReady,
  type Pod,
  type PodDisruptionBudget,
  type PodDisruptionBudgetStatus,
} from '@holdfast/api';
import { ownValue, setOwn } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { findCondition, withCondition } from '../../common/conditions.ts';
import { isSame } from '../../common/hash.ts';
import { scaled } from '../../common/int-or-percent.ts';
import { controllerOf, generationOf, isTerminating, nameOf, timeOf } from '../../common/meta.ts';
import { EVICTED_POD_GRACE_MS } from '../../limits.ts';

export interface BudgetSnapshot {
  readonly budget: PodDisruptionBudget;
  /** The pods that its selector matches. */
  readonly pods: readonly Pod[];
  /** Returns the desired size of a pod's owner, and the owner; `undefined` when no owner has a size. */
  readonly scaleOf: (pod: Pod) => OwnerScale | undefined;
}

export interface OwnerScale {
  readonly uid: string;
  readonly replicas: number;
}

export interface BudgetEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** The pod that the event is about; without it the budget. */
  readonly pod?: Pod;
}

export interface BudgetDecision {
  /** `undefined` when the stored status is up to date. */
  readonly status: PodDisruptionBudgetStatus | undefined;
  readonly events: readonly BudgetEvent[];
  /** The time until an evicted pod that still exists counts again. */
  readonly recheckAfterMs: number | undefined;
}

/** Computes how many pods may be disrupted now. A budget that cannot be computed allows none. */
export function decide(snapshot: BudgetSnapshot, now: number): BudgetDecision {
  const { budget, pods } = snapshot;
  const expectation = expect(snapshot);
  const evicted = evictedPods(budget, pods, now);
  const events = [...eventsOf(snapshot, expectation), ...evicted.events];
  const next =
    expectation.failure === undefined
      ? calculated(snapshot, { expectation, disruptedPods: evicted.waitedFor, now })
      : failSafe(budget, expectation.failure, now);
  const isUnchanged = isSame(budget.status, next);
  const recheckAfterMs = evicted.nextEndMs === undefined ? undefined : Math.max(1, evicted.nextEndMs - now);
  return { status: isUnchanged ? undefined : next, events, recheckAfterMs };
}

interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  readonly unmanaged: readonly string[];
  readonly failure?: string;
}

function expect({ budget, pods, scaleOf }: BudgetSnapshot): Expectation {
  const { minAvailable, maxUnavailable } = budget.spec;
  if (typeof minAvailable === 'number') {
    return { expectedPods: pods.length, desiredHealthy: minAvailable, unmanaged: [] };
  }
  const intended = intendedPods(pods, scaleOf);
  if (maxUnavailable !== undefined) {
    const mayMiss = scaled(maxUnavailable, intended.expectedPods, Math.ceil);
    return { ...intended, desiredHealthy: Math.max(0, intended.expectedPods - mayMiss) };
  }
  const desiredHealthy = minAvailable === undefined ? 0 : scaled(minAvailable, intended.expectedPods, Math.ceil);
  return { ...intended, desiredHealthy };
}

/** The sum of the owners' desired pods, whatever exists now. */
function intendedPods(pods: readonly Pod[], scaleOf: BudgetSnapshot['scaleOf']): Omit<Expectation, 'desiredHealthy'> {
  const replicas = new Map<string, number>();
  const unmanaged: string[] = [];
  for (const pod of pods) {
    if (controllerOf(pod) === undefined) {
      unmanaged.push(nameOf(pod));
      continue;
    }
    const scale = scaleOf(pod);
    if (scale === undefined) {
      return { expectedPods: 0, unmanaged, failure: `found no controllers for pod "${nameOf(pod)}"` };
    }
    replicas.set(scale.uid, scale.replicas);
  }
  return { expectedPods: [...replicas.values()].reduce((sum, count) => sum + count, 0), unmanaged };
}

interface Evicted {
  /** Pods that were evicted and whose end is still to come. */
  readonly waitedFor: Readonly<Record<string, string>>;
  readonly nextEndMs: number | undefined;
  readonly events: readonly BudgetEvent[];
}

function evictedPods(budget: PodDisruptionBudget, pods: readonly Pod[], now: number): Evicted {
  const waitedFor: Record<string, string> = {};
  const events: BudgetEvent[] = [];
  let nextEndMs: number | undefined;
  for (const pod of pods) {
    const since = ownValue(budget.status.disruptedPods, nameOf(pod));
    if (since === undefined || isTerminating(pod)) continue;
    const endMs = timeOf(since) + EVICTED_POD_GRACE_MS;
    if (endMs < now) {
      const whose = `${budget.metadata.namespace ?? ''}/${nameOf(budget)}`;
      const message = `Pod was expected by PDB ${whose} to be deleted but it wasn't`;
      events.push({ type: 'Warning', reason: 'NotDeleted', message, pod });
      continue;
    }
    setOwn(waitedFor, nameOf(pod), since);
    nextEndMs = Math.min(nextEndMs ?? endMs, endMs);
  }
  return { waitedFor, nextEndMs, events };
}

interface Figures {
  readonly expectation: Expectation;
  readonly disruptedPods: Readonly<Record<string, string>>;
  readonly now: number;
}

function calculated(
  { budget, pods }: BudgetSnapshot,
  { expectation: { expectedPods, desiredHealthy }, disruptedPods, now }: Figures,
): PodDisruptionBudgetStatus {
  const currentHealthy = pods.filter((pod) => isHealthy(pod, disruptedPods)).length;
  const spare = currentHealthy - desiredHealthy;
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, spare);
  const observedGeneration = generationOf(budget);
  const condition = allowance(disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods', observedGeneration);
  return {
    ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods: { ...disruptedPods } }),
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: withAllowance(budget, condition, now),
  };
}

const isHealthy = (pod: Pod, disruptedPods: Readonly<Record<string, string>>): boolean =>
  isPodReady(pod) && !isTerminating(pod) && ownValue(disruptedPods, nameOf(pod)) === undefined;

/** The old figures, but nothing may be taken until they can be trusted again. */
function failSafe(budget: PodDisruptionBudget, failure: string, now: number): PodDisruptionBudgetStatus {
  const condition = { ...allowance('SyncFailed', budget.status.observedGeneration ?? 0), message: failure };
  return { ...budget.status, disruptionsAllowed: 0, conditions: withAllowance(budget, condition, now) };
}

const allowance = (
  reason: 'SufficientPods' | 'InsufficientPods' | 'SyncFailed',
  observedGeneration: number,
): Omit<Condition, 'lastTransitionTime'> => ({
  type: 'DisruptionAllowed',
  status: reason === 'SufficientPods' ? 'True' : 'False',
  reason,
  message: '',
  observedGeneration,
});

function withAllowance(
  { status }: PodDisruptionBudget,
  condition: Omit<Condition, 'lastTransitionTime'>,
  now: number,
): Condition[] {
  const old = findCondition(status.conditions, condition.type);
  const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : formatTime(now);
  return [...withCondition(status.conditions ?? [], { ...condition, lastTransitionTime })];
}

function eventsOf({ budget, pods }: BudgetSnapshot, { unmanaged, failure }: Expectation): readonly BudgetEvent[] {
  const events: BudgetEvent[] = [];
  if (pods.length === 0) events.push({ type: 'Normal', reason: 'NoPods', message: 'No matching pods found' });
  if (failure !== undefined) {
    const message = `Failed to calculate the number of expected pods: ${failure}`;
    events.push({ type: 'Warning', reason: 'CalculateExpectedPodCountFailed', message });
  } else if (unmanaged.length > 0) {
    const message = `Pods selected by this PodDisruptionBudget (selector: ${describeSelector(budget)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
    events.push({ type: 'Warning', reason: 'UnmanagedPods', message });
  }
  return events;
}

const describeSelector = ({ spec }: PodDisruptionBudget): string =>
  `&LabelSelector{MatchLabels:map[string]string{${Object.entries(spec.selector?.matchLabels ?? {})
    .map(([key, value]) => `${key}: ${value},`)
    .join('')}},MatchExpressions:[]LabelSelectorRequirement{},}`;
