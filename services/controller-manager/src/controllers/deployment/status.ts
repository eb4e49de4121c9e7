import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { findCondition, withCondition, withoutCondition } from '../../common/conditions.ts';
import { withoutZeros } from '../../common/hash.ts';
import { generationOf, nameOf, timeOf } from '../../common/meta.ts';
import { desiredReplicas, rolloutBounds } from './bounds.ts';
import { isSameSet, type PlannedSet, totalReplicas } from './plan.ts';

/** Kubernetes' "no deadline". */
const NO_DEADLINE_SECONDS = 2_147_483_647;

export interface StatusInput {
  readonly deployment: Deployment;
  readonly sets: readonly PlannedSet[];
  readonly newSet: ReplicaSet | undefined;
  /** Name of the set this pass creates. */
  readonly creates: string | undefined;
  /** Paused, being scaled or deleted: the rollout is not judged. */
  readonly judgeProgress: boolean;
}

type Conditions = readonly DeploymentCondition[];

export function nextStatus(input: StatusInput, now: number): DeploymentStatus {
  const { deployment } = input;
  const counts = countReplicas(input);
  const base = withAvailability(deployment, counts, pausedConditions(deployment, now), now);
  const found = withNewSetFound(input, base, now);
  const conditions = input.judgeProgress ? judgeProgress(input, counts, found, now) : found;
  return withoutZeros<DeploymentStatus>({
    observedGeneration: generationOf(deployment),
    ...(deployment.status.collisionCount === undefined ? {} : { collisionCount: deployment.status.collisionCount }),
    ...counts,
    conditions: [...conditions],
  });
}

interface Counts {
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
  readonly unavailableReplicas: number;
}

function countReplicas({ sets, newSet }: StatusInput): Counts {
  const sum = (count: (set: ReplicaSet) => number | undefined): number =>
    sets.reduce((total, { set }) => total + (count(set) ?? 0), 0);
  const availableReplicas = sum((set) => set.status.availableReplicas);
  return {
    replicas: sum((set) => set.status.replicas),
    updatedReplicas: sets.find((one) => isSameSet(one, newSet))?.set.status.replicas ?? 0,
    readyReplicas: sum((set) => set.status.readyReplicas),
    availableReplicas,
    unavailableReplicas: Math.max(0, totalReplicas(sets) - availableReplicas),
  };
}

export const hasDeadline = (deployment: Deployment): boolean =>
  (deployment.spec.progressDeadlineSeconds ?? NO_DEADLINE_SECONDS) !== NO_DEADLINE_SECONDS;

const condition = (
  type: string,
  status: 'True' | 'False' | 'Unknown',
  text: { readonly reason: string; readonly message: string },
  now: number,
): DeploymentCondition => ({
  type,
  status,
  ...text,
  lastUpdateTime: formatTime(now),
  lastTransitionTime: formatTime(now),
});

/** Keeps the stored condition while status and reason stay; the transition time moves only with the status value. */
function upsert(conditions: Conditions, next: DeploymentCondition): Conditions {
  const old = findCondition(conditions, next.type);
  if (old !== undefined && old.status === next.status && old.reason === next.reason) return conditions;
  const kept = old?.status === next.status && old.lastTransitionTime !== undefined;
  return withCondition(conditions, kept ? { ...next, lastTransitionTime: old.lastTransitionTime ?? '' } : next);
}

function pausedConditions(deployment: Deployment, now: number): Conditions {
  const conditions = deployment.status.conditions ?? [];
  const progressing = findCondition(conditions, 'Progressing');
  if (!hasDeadline(deployment)) return conditions;
  if (progressing?.reason === 'ProgressDeadlineExceeded') return conditions;
  const isPaused = deployment.spec.paused === true;
  const saidPaused = progressing?.reason === 'DeploymentPaused';
  if (isPaused === saidPaused) return conditions;
  const text = isPaused
    ? { reason: 'DeploymentPaused', message: 'Deployment is paused' }
    : { reason: 'DeploymentResumed', message: 'Deployment is resumed' };
  return upsert(conditions, condition('Progressing', 'Unknown', text, now));
}

function withAvailability(deployment: Deployment, counts: Counts, conditions: Conditions, now: number): Conditions {
  const enough = counts.availableReplicas >= desiredReplicas(deployment) - rolloutBounds(deployment).maxUnavailable;
  const text = enough
    ? { reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : { reason: 'MinimumReplicasUnavailable', message: 'Deployment does not have minimum availability.' };
  return upsert(conditions, condition('Available', enough ? 'True' : 'False', text, now));
}

function withNewSetFound(input: StatusInput, conditions: Conditions, now: number): Conditions {
  if (!hasDeadline(input.deployment)) return conditions;
  if (input.creates !== undefined) {
    const text = { reason: 'NewReplicaSetCreated', message: `Created new replica set "${input.creates}"` };
    return upsert(conditions, condition('Progressing', 'True', text, now));
  }
  if (input.newSet === undefined || findCondition(conditions, 'Progressing') !== undefined) return conditions;
  const text = { reason: 'FoundNewReplicaSet', message: `Found new replica set "${nameOf(input.newSet)}"` };
  return upsert(conditions, condition('Progressing', 'True', text, now));
}

function judgeProgress(input: StatusInput, counts: Counts, conditions: Conditions, now: number): Conditions {
  const { deployment, sets } = input;
  const failed = sets
    .map(({ set }) => findCondition(set.status.conditions, 'ReplicaFailure'))
    .find((c) => c !== undefined);
  const withFailure =
    failed === undefined
      ? withoutCondition(conditions, 'ReplicaFailure')
      : upsert(conditions, {
          ...condition('ReplicaFailure', 'True', { reason: failed.reason ?? '', message: failed.message ?? '' }, now),
        });
  if (!hasDeadline(deployment)) return withoutCondition(withFailure, 'Progressing');
  const wasComplete = findCondition(conditions, 'Progressing')?.reason === 'NewReplicaSetAvailable';
  if (wasComplete && counts.replicas === counts.updatedReplicas && input.creates === undefined) return withFailure;
  return progressCondition(input, counts, withFailure, now);
}

function progressCondition(input: StatusInput, counts: Counts, conditions: Conditions, now: number): Conditions {
  const { deployment, newSet } = input;
  const subject = newSet === undefined ? `Deployment "${nameOf(deployment)}"` : `ReplicaSet "${nameOf(newSet)}"`;
  if (isComplete(deployment, counts)) {
    const text = { reason: 'NewReplicaSetAvailable', message: `${subject} has successfully progressed.` };
    return upsert(conditions, condition('Progressing', 'True', text, now));
  }
  const old = findCondition(conditions, 'Progressing');
  if (hasProgressed(deployment.status, counts)) {
    const text = { reason: 'ReplicaSetUpdated', message: `${subject} is progressing.` };
    const next = condition('Progressing', 'True', text, now);
    const since = old?.status === 'True' ? old.lastTransitionTime : undefined;
    // The update time moves at every step: the deadline counts from the last one.
    return withCondition(conditions, since === undefined ? next : { ...next, lastTransitionTime: since });
  }
  if (!isOverdue(deployment, old, now)) return conditions;
  const text = { reason: 'ProgressDeadlineExceeded', message: `${subject} has timed out progressing.` };
  return upsert(conditions, condition('Progressing', 'False', text, now));
}

function isComplete(deployment: Deployment, counts: Counts): boolean {
  const desired = desiredReplicas(deployment);
  return counts.updatedReplicas === desired && counts.replicas === desired && counts.availableReplicas === desired;
}

function hasProgressed(old: DeploymentStatus, counts: Counts): boolean {
  const oldUpdated = old.updatedReplicas ?? 0;
  return (
    counts.updatedReplicas > oldUpdated ||
    counts.replicas - counts.updatedReplicas < (old.replicas ?? 0) - oldUpdated ||
    counts.readyReplicas > (old.readyReplicas ?? 0) ||
    counts.availableReplicas > (old.availableReplicas ?? 0)
  );
}

function isOverdue(deployment: Deployment, progressing: DeploymentCondition | undefined, now: number): boolean {
  if (progressing === undefined || progressing.reason === 'NewReplicaSetAvailable') return false;
  return progressing.reason === 'ProgressDeadlineExceeded' || deadlineOf(deployment, progressing) < now;
}

const deadlineOf = (deployment: Deployment, progressing: DeploymentCondition): number =>
  timeOf(progressing.lastUpdateTime) + (deployment.spec.progressDeadlineSeconds ?? NO_DEADLINE_SECONDS) * 1000;

/** Returns the time until the rollout must be evaluated again, even without an event. */
export function nextJudgementMs(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const progressing = findCondition(status.conditions, 'Progressing');
  if (!hasDeadline(deployment) || progressing === undefined || deployment.spec.paused === true) return undefined;
  const settled = progressing.reason === 'NewReplicaSetAvailable' || progressing.reason === 'ProgressDeadlineExceeded';
  return settled ? undefined : Math.max(0, deadlineOf(deployment, progressing) - now) + 1_000;
}

/** The status when the new set could not be created. */
export function withCreateFailure(
  deployment: Deployment,
  status: DeploymentStatus,
  failure: { readonly name: string; readonly message: string; readonly now: number },
): DeploymentStatus {
  if (!hasDeadline(deployment)) return status;
  const message = `Failed to create new replica set "${failure.name}": ${failure.message}`;
  const next = condition('Progressing', 'False', { reason: 'ReplicaSetCreateError', message }, failure.now);
  return { ...status, conditions: [...upsert(status.conditions ?? [], next)] };
}
