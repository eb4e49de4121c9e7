import type { Deployment, ReplicaSet } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { desiredReplicas, isRollingUpdate, maxReplicas } from './bounds.ts';
import { availableOf, isSameSet, type PlannedSet, totalReplicas } from './plan.ts';
import { DESIRED_REPLICAS, MAX_REPLICAS, oldestFirst } from './revision.ts';
import { resized } from './rolling.ts';

const numberIn = (planned: PlannedSet, annotation: string): number | undefined => {
  const value = Number(ownValue(planned.annotations, annotation) ?? Number.NaN);
  return Number.isSafeInteger(value) ? value : undefined;
};

/** The user changed the number of replicas since a set that has pods was last sized. */
export function isScalingEvent(deployment: Deployment, sets: readonly PlannedSet[]): boolean {
  return sets.some((one) => {
    const sizedFor = numberIn(one, DESIRED_REPLICAS);
    return one.replicas > 0 && sizedFor !== undefined && sizedFor !== desiredReplicas(deployment);
  });
}

/** Brings the sets to a new total. In the middle of a rollout every set keeps its share, so that the change risks no more than before. */
export function rescale(
  deployment: Deployment,
  sets: readonly PlannedSet[],
  newSet: ReplicaSet | undefined,
): readonly PlannedSet[] {
  const desired = desiredReplicas(deployment);
  const only = activeOrLatest(sets, newSet);
  if (only !== undefined) return sets.map((one) => (one === only ? resized(deployment, one, desired) : one));
  const isNew = (one: PlannedSet): boolean => isSameSet(one, newSet);
  if (sets.some((one) => isNew(one) && isSaturated(one, desired))) {
    return sets.map((one) => (isNew(one) || one.replicas === 0 ? one : resized(deployment, one, 0)));
  }
  return isRollingUpdate(deployment) ? inProportion(deployment, sets) : sets;
}

function activeOrLatest(sets: readonly PlannedSet[], newSet: ReplicaSet | undefined): PlannedSet | undefined {
  const active = sets.filter((one) => one.replicas > 0);
  if (active.length === 1) return active[0];
  if (active.length > 1) return undefined;
  return sets.find((one) => isSameSet(one, newSet)) ?? [...sets].sort((a, b) => oldestFirst(b.set, a.set))[0];
}

const isSaturated = (one: PlannedSet, desired: number): boolean =>
  one.replicas === desired && numberIn(one, DESIRED_REPLICAS) === desired && availableOf(one) === desired;

function inProportion(deployment: Deployment, sets: readonly PlannedSet[]): readonly PlannedSet[] {
  const allowed = desiredReplicas(deployment) > 0 ? maxReplicas(deployment) : 0;
  const active = sets.filter((one) => one.replicas > 0);
  const toAdd = allowed - totalReplicas(active);
  const bySize = (a: PlannedSet, b: PlannedSet): number =>
    b.replicas - a.replicas || (toAdd > 0 ? oldestFirst(b.set, a.set) : oldestFirst(a.set, b.set));
  const ordered = [...active].sort(bySize);
  let added = 0;
  const sizes = new Map<PlannedSet, number>();
  for (const one of ordered) {
    const share = shareOf(deployment, one, toAdd - added);
    added += share;
    sizes.set(one, one.replicas + share);
  }
  giveRemainder(ordered, sizes, toAdd - added);
  return sets.map((one) => {
    const size = sizes.get(one);
    return size === undefined ? one : resized(deployment, one, size);
  });
}

/** Gives the rounding remainder to the largest set, and what it cannot take to the next one. */
function giveRemainder(ordered: readonly PlannedSet[], sizes: Map<PlannedSet, number>, remainder: number): void {
  let left = remainder;
  for (const one of ordered) {
    const size = Math.max(0, (sizes.get(one) ?? 0) + left);
    left -= size - (sizes.get(one) ?? 0);
    sizes.set(one, size);
  }
}

/** Returns a set's part of the change, proportional to its previous size and limited to what is left. */
function shareOf(deployment: Deployment, one: PlannedSet, left: number): number {
  if (left === 0) return 0;
  const share = fractionOf(deployment, one);
  return left > 0 ? Math.max(0, Math.min(share, left)) : Math.min(0, Math.max(share, left));
}

function fractionOf(deployment: Deployment, one: PlannedSet): number {
  if (desiredReplicas(deployment) === 0) return -one.replicas;
  const before = numberIn(one, MAX_REPLICAS) ?? deployment.status.replicas ?? 0;
  if (before === 0) return 0;
  return Math.round((one.replicas * maxReplicas(deployment)) / before) - one.replicas;
}
