import type { Pod } from '@holdfast/api';
import { MIN_CONTAINER_GRACE_SECONDS, MIN_POD_GRACE_SECONDS } from '../limits.ts';

/**
 * Returns the grace period of a pod's termination. A later request can only shorten it. 0 means "unset" and uses the
 * pod's own value, so it never means immediately.
 */
export function effectivePodGrace(trackedSeconds: number, pod: Pod, overrideSeconds?: number): number {
  let grace = trackedSeconds;
  for (const candidate of [pod.metadata.deletionGracePeriodSeconds, overrideSeconds]) {
    if (candidate !== undefined && candidate > 0 && (grace === 0 || grace > candidate)) grace = candidate;
  }
  if (grace === 0) grace = pod.spec.terminationGracePeriodSeconds ?? 0;
  return Math.max(MIN_POD_GRACE_SECONDS, grace);
}

export type KillCause =
  | { readonly kind: 'pod'; readonly graceSeconds: number }
  | { readonly kind: 'startupProbe' | 'livenessProbe'; readonly container: string };

/** Grace of one container before hooks take their part of it. A whole pod's termination brings its own. */
export function containerGrace(pod: Pod, cause: KillCause): number {
  if (cause.kind === 'pod') return Math.max(MIN_CONTAINER_GRACE_SECONDS, cause.graceSeconds);
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined)
    return Math.max(MIN_CONTAINER_GRACE_SECONDS, deletionGracePeriodSeconds);
  const { containers, initContainers = [], terminationGracePeriodSeconds } = pod.spec;
  const container = [...containers, ...initContainers].find((each) => each.name === cause.container);
  const ofProbe = container?.[cause.kind]?.terminationGracePeriodSeconds;
  return Math.max(MIN_CONTAINER_GRACE_SECONDS, ofProbe ?? terminationGracePeriodSeconds ?? 0);
}

/** Subtracts the whole seconds of a preStop hook from the grace period of the stop signal; never below a minimum. */
export function graceAfterHook(graceSeconds: number, hookMs: number): number {
  return Math.max(MIN_CONTAINER_GRACE_SECONDS, graceSeconds - Math.floor(hookMs / 1000));
}
