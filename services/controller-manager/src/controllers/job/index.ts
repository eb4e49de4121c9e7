import { JOBS, type Job, PODS } from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { AvoidedNames } from '../../common/avoided-names.ts';
import { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, parseKey, uidOf } from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { ownersToWake } from '../../common/wake.ts';
import { CACHE_BARRIER_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply } from './apply.ts';
import { decide } from './decide.ts';
import { isJobFinished, isManagedElsewhere } from './facts.ts';
import { Freshness } from './freshness.ts';
import { createOrphanLoop } from './orphans.ts';

export const jobController: ControllerDefinition = {
  name: 'job',
  component: 'job-controller',
  identity: 'manager',
  watches: [JOBS, PODS],
  create: (context) => [createJobLoop(context), createOrphanLoop(context)],
};

interface Memory {
  /** Own writes to pods, and those that the books of a Job rest on. */
  readonly barrier: CacheBarrier;
  /** Own writes to Jobs. */
  readonly books: CacheBarrier;
  readonly freshness: Freshness;
  readonly avoided: AvoidedNames;
  readonly pacing: Pacing;
}

function createJobLoop(context: ControllerContext): Loop {
  const jobs = context.informers.of(JOBS);
  const barrier = new CacheBarrier();
  const memory: Memory = {
    barrier,
    books: new CacheBarrier(),
    freshness: new Freshness(context, barrier),
    avoided: new AvoidedNames(),
    pacing: new Pacing(context.clock),
  };
  return {
    name: 'job',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => jobs.list().map(keyOf),
    wake: (enqueue) => [
      jobs.onChange((change) => {
        memory.pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      context.informers.of(PODS).onChange((change) => {
        memory.avoided.podChanged(jobs, 'Job', change);
        ownersToWake(jobs, 'Job', change).forEach(enqueue);
      }),
    ],
    reconcile: async (key) => {
      const job = jobs.get(parseKey(key));
      if (job !== undefined && !isJobFinished(job) && !isManagedElsewhere(job)) return pass(context, memory, job);
      for (const part of Object.values(memory)) part.forget(key);
      return {};
    },
  };
}

async function pass(context: ControllerContext, memory: Memory, job: Job): Promise<ReconcileResult> {
  const key = keyOf(job);
  const waitMs = memory.pacing.waitMs(key);
  if (waitMs !== undefined) return { requeueAfterMs: waitMs };
  const monotonic = context.clock.monotonic();
  if (!memory.books.isCaughtUp(key, context.informers.of(JOBS), monotonic)) {
    return { requeueAfterMs: CACHE_BARRIER_RECHECK_MS };
  }
  await memory.freshness.ensure(job);
  const cache = context.informers.of(PODS);
  const pods = cache.byIndex('controller', uidOf(job));
  const caughtUp = memory.barrier.isCaughtUp(key, cache, monotonic);
  const decision = decide(
    {
      job,
      pods: [...pods, ...cache.byIndex('orphan', job.metadata.namespace ?? '')],
      caughtUp,
      unansweredDeletes: memory.barrier.unanswered(key),
      avoidedNames: memory.avoided.of(key),
    },
    context.clock.now(),
  );
  memory.pacing.passed(key, pods.length);
  const stored = (written: Job): void => {
    memory.books.wrote(key, written);
    memory.freshness.wrote(written);
  };
  const error = await apply({ context, ...memory, owner: job, resource: JOBS, job, stored }, decision);
  if (error !== undefined) throw error;
  if (!caughtUp) return { requeueAfterMs: CACHE_BARRIER_RECHECK_MS };
  const unseen = memory.barrier.lookAgainMs(key, cache, context.clock.monotonic());
  const waits = [...unseen, ...(decision.lookAgainMs === undefined ? [] : [decision.lookAgainMs])];
  return waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) };
}
