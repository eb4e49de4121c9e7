import { isPodFinished, PODS, type Pod, podCondition } from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import type { ControllerContext, Loop } from '../../common/context.ts';
import { isTerminating, keyOf, parseKey, timeOf } from '../../common/meta.ts';
import { withPodCondition } from '../../common/pods.ts';
import { unlessChanged } from '../../common/writes.ts';
import { STALE_DISRUPTION_TARGET_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';

/** Returns how long the mark of a disruption that did not happen may stay; `undefined` for pods without a mark. */
export function staleAfterMs(pod: Pod, now: number): number | undefined {
  const mark = podCondition(pod, 'DisruptionTarget');
  if (mark?.status !== 'True' || isTerminating(pod) || isPodFinished(pod)) return undefined;
  // The node ends the pod itself, however long that takes.
  if (mark.reason === 'TerminationByKubelet') return undefined;
  return Math.max(0, timeOf(mark.lastTransitionTime) + STALE_DISRUPTION_TARGET_MS - now);
}

/** A pod that was marked as about to be disrupted and still lives is not about to be any more. */
export function createStaleTargetLoop(context: ControllerContext): Loop {
  const pods = context.informers.of(PODS);
  const isMarked = (pod: Pod): boolean => staleAfterMs(pod, 0) !== undefined;
  return {
    name: 'disruption-stale-targets',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => pods.list().filter(isMarked).map(keyOf),
    wake: (enqueue) => [
      pods.onChange(({ key, object }) => {
        if (object !== undefined && isMarked(object)) enqueue(key);
      }),
    ],
    reconcile: (key) => pass(context, pods.get(parseKey(key))),
  };
}

async function pass({ client, clock }: ControllerContext, pod: Pod | undefined): Promise<ReconcileResult> {
  const waitMs = pod === undefined ? undefined : staleAfterMs(pod, clock.now());
  if (pod === undefined || waitMs === undefined) return {};
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  const cleared = withPodCondition(pod, { type: 'DisruptionTarget', status: 'False' }, clock.now());
  await unlessChanged(() => client.updateStatus(PODS, cleared));
  return {};
}
