import type { Deployment } from '@holdfast/api';
import { desiredReplicas, isRollingUpdate, maxReplicas, rolloutBounds } from './bounds.ts';
import { availableOf, isSameSet, type PlannedSet, totalAvailable, totalReplicas } from './plan.ts';
import { oldestFirst, sizeAnnotations } from './revision.ts';

/** Returns the size that the new set may have beside the others. */
export function newSetSize(deployment: Deployment, current: number, total: number): number {
  const desired = desiredReplicas(deployment);
  if (!isRollingUpdate(deployment) || current >= desired) return desired;
  const room = maxReplicas(deployment) - total;
  return room <= 0 ? current : current + Math.min(room, desired - current);
}

/**
 * One step of a rolling update: first grows the new set within the surge, then shrinks the old ones within
 * availability.
 */
export function rollForward(
  deployment: Deployment,
  sets: readonly PlannedSet[],
  newSet: PlannedSet,
): readonly PlannedSet[] {
  const size = newSetSize(deployment, newSet.replicas, totalReplicas(sets));
  if (size !== newSet.replicas) {
    return sets.map((one) => (isSameSet(one, newSet.set) ? resized(deployment, one, size) : one));
  }
  return shrinkOldSets(deployment, sets, newSet);
}

export const resized = (deployment: Deployment, planned: PlannedSet, replicas: number): PlannedSet => ({
  ...planned,
  replicas,
  annotations: { ...planned.annotations, ...sizeAnnotations(deployment) },
});

function shrinkOldSets(deployment: Deployment, sets: readonly PlannedSet[], newSet: PlannedSet): readonly PlannedSet[] {
  const minAvailable = desiredReplicas(deployment) - rolloutBounds(deployment).maxUnavailable;
  const newUnavailable = newSet.replicas - availableOf(newSet);
  const budget = totalReplicas(sets) - minAvailable - newUnavailable;
  if (budget <= 0) return sets;
  const isOld = (one: PlannedSet): boolean => !isSameSet(one, newSet.set);
  const cleaned = take(deployment, sets, { budget, from: isOld, most: (one) => one.replicas - availableOf(one) });
  const spare = totalAvailable(cleaned) - minAvailable;
  return take(deployment, cleaned, { budget: spare, from: isOld, most: (one) => one.replicas });
}

/** Takes replicas away, oldest set first, until the budget is used up. */
function take(
  deployment: Deployment,
  sets: readonly PlannedSet[],
  rule: {
    readonly budget: number;
    readonly from: (one: PlannedSet) => boolean;
    readonly most: (one: PlannedSet) => number;
  },
): readonly PlannedSet[] {
  let left = rule.budget;
  const sizes = new Map<string, number>();
  for (const one of [...sets].filter(rule.from).sort((a, b) => oldestFirst(a.set, b.set))) {
    const count = Math.min(Math.max(0, left), rule.most(one), one.replicas);
    left -= count;
    if (count > 0) sizes.set(one.set.metadata.uid ?? '', one.replicas - count);
  }
  return sets.map((one) => {
    const size = sizes.get(one.set.metadata.uid ?? '');
    return size === undefined ? one : resized(deployment, one, size);
  });
}
