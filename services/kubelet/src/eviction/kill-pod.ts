import type { Pod } from '@holdfast/api';
import type { EventRecorder } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { KILL_WAIT_MIN_SECONDS } from '../limits.ts';

export interface KillPodDeps {
  readonly clock: Clock;
  readonly events: EventRecorder;
  /** Resolves when nothing of the pod runs and its object has the reason. */
  readonly end: (uid: string, failure: PodFailure) => Promise<void>;
}

/** Rejects when the pod has not ended after half as long again as it was given; its end is still under way then. */
export async function killPodNow(
  { clock, events, end }: KillPodDeps,
  pod: Pod,
  failure: PodFailure,
  overrideSeconds: number | undefined,
): Promise<void> {
  const limit = new AbortController();
  const waitMs = killWaitSeconds(pod, overrideSeconds) * 1000;
  const tooLong = clock.sleep(waitMs, limit.signal).then(
    () => 'too long' as const,
    () => 'ended' as const,
  );
  const outcome = await Promise.race([end(pod.metadata.uid ?? '', failure).then(() => 'ended' as const), tooLong]);
  limit.abort(new Error('the pod has ended'));
  if (outcome === 'ended') return;
  events.event(pod, {
    type: 'Warning',
    reason: 'ExceededGracePeriod',
    message: 'Container runtime did not kill the pod within specified grace period.',
  });
  throw new Error('timeout waiting to kill pod');
}

export function killWaitSeconds({ spec }: Pod, overrideSeconds: number | undefined): number {
  const grace = overrideSeconds ?? spec.terminationGracePeriodSeconds ?? 0;
  return Math.max(KILL_WAIT_MIN_SECONDS, grace + Math.floor(grace / 2));
}
