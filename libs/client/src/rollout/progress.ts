import type { DaemonSet, Deployment, StatefulSet } from '@holdfast/api/facts';

/** How far a rollout is, as its controller counts. */
export interface Progress {
  readonly wanted: number;
  /** Pods of the new template. */
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  /** `RollingUpdate`, `OnDelete`, `Recreate` */
  readonly strategy: string;
  readonly isPaused: boolean;
}

export const deploymentProgress = ({ spec, status }: Deployment): Progress => ({
  wanted: spec.replicas ?? 1,
  updated: status.updatedReplicas ?? 0,
  ready: status.readyReplicas ?? 0,
  available: status.availableReplicas ?? 0,
  strategy: spec.strategy?.type ?? 'RollingUpdate',
  isPaused: spec.paused === true,
});

export const statefulSetProgress = ({ spec, status }: StatefulSet): Progress => ({
  wanted: spec.replicas ?? 1,
  updated: status.updatedReplicas ?? 0,
  ready: status.readyReplicas ?? 0,
  available: status.availableReplicas ?? 0,
  strategy: spec.updateStrategy?.type ?? 'RollingUpdate',
  isPaused: false,
});

export const daemonSetProgress = ({ spec, status }: DaemonSet): Progress => ({
  wanted: status.desiredNumberScheduled,
  updated: status.updatedNumberScheduled ?? 0,
  ready: status.numberReady,
  available: status.numberAvailable ?? 0,
  strategy: spec.updateStrategy?.type ?? 'RollingUpdate',
  isPaused: false,
});
