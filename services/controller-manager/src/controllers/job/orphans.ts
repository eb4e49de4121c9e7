import { JOBS, type Job, PODS, type Pod } from '@holdfast/api';
import type { ControllerContext, Loop } from '../../common/context.ts';
import { controllerOf, keyOf, namespaceOf, parseKey, toTarget, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { isJobFinished, isManagedElsewhere, isTracked, withoutTracking } from './facts.ts';

/** Lets pods go that are tracked for a Job which no longer counts them: it is gone, has ended, or has released them. */
export function createOrphanLoop(context: ControllerContext): Loop {
  const jobs = context.informers.of(JOBS);
  const pods = context.informers.of(PODS);
  const isOrphaned = (pod: Pod): boolean => isTracked(pod) && !isCounted(pod, cachedJob(pod));
  const cachedJob = (pod: Pod): Job | undefined => {
    const target = jobTargetOf(pod);
    return target === undefined ? undefined : jobs.get(target);
  };
  return {
    name: 'job-orphans',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => pods.list().filter(isOrphaned).map(keyOf),
    wake: (enqueue) => [
      pods.onChange(({ key, object }) => {
        if (object !== undefined && isOrphaned(object)) enqueue(key);
      }),
      jobs.onChange(({ object, old }) => {
        const job = object ?? old;
        if (job === undefined || (object !== undefined && !isJobFinished(object))) return;
        pods.byIndex('controller', uidOf(job)).filter(isOrphaned).map(keyOf).forEach(enqueue);
      }),
    ],
    reconcile: async (key) => {
      const pod = pods.get(parseKey(key));
      if (pod === undefined || !isOrphaned(pod)) return {};
      // A cache may not have heard of a new Job yet: only the API knows that there is none.
      const target = jobTargetOf(pod);
      const live = target === undefined ? undefined : await context.client.find(JOBS, target);
      if (isCounted(pod, live)) return {};
      await unlessChanged(() => context.client.update(PODS, withoutTracking(pod)));
      return {};
    },
  };
}

function jobTargetOf(pod: Pod): ReturnType<typeof toTarget> | undefined {
  const controller = controllerOf(pod);
  return controller?.kind === 'Job' ? toTarget(namespaceOf(pod), controller.name) : undefined;
}

/** True when a running Job or another controller handles the pod. */
function isCounted(pod: Pod, job: Job | undefined): boolean {
  const controller = controllerOf(pod);
  if (controller !== undefined && controller.kind !== 'Job') return true;
  if (job === undefined || uidOf(job) !== controller?.uid) return false;
  return isManagedElsewhere(job) || !isJobFinished(job);
}
