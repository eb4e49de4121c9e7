import type { Deployment } from '@holdfast/api';
import { scaled } from '../../common/int-or-percent.ts';

export const desiredReplicas = (deployment: Deployment): number => deployment.spec.replicas ?? 1;

export const isRollingUpdate = (deployment: Deployment): boolean => deployment.spec.strategy.type !== 'Recreate';

/** How far a rollout may go above and below the desired number. */
export interface RolloutBounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Percentages of surge round up, of unavailability down; when both come to 0 one pod may be missing, or nothing could move. */
export function rolloutBounds(deployment: Deployment): RolloutBounds {
  if (!isRollingUpdate(deployment)) return { maxSurge: 0, maxUnavailable: 0 };
  const replicas = desiredReplicas(deployment);
  const { maxSurge = '25%', maxUnavailable = '25%' } = deployment.spec.strategy.rollingUpdate ?? {};
  const surge = scaled(maxSurge, replicas, Math.ceil);
  const unavailable = scaled(maxUnavailable, replicas, Math.floor);
  const either = surge === 0 && unavailable === 0 ? 1 : unavailable;
  return { maxSurge: surge, maxUnavailable: Math.min(either, replicas) };
}

/** The largest number of pods all its ReplicaSets may ask for. */
export const maxReplicas = (deployment: Deployment): number =>
  desiredReplicas(deployment) + rolloutBounds(deployment).maxSurge;
