import { JOBS } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, parseKey } from '../../common/meta.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { removeIfDue } from './apply.ts';
import { timeToLiveMs } from './decide.ts';

export const ttlAfterFinishedController: ControllerDefinition = {
  name: 'ttl-after-finished',
  component: 'ttl-after-finished-controller',
  identity: 'manager',
  watches: [JOBS],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const jobs = context.informers.of(JOBS);
  const { clock } = context;
  return {
    name: 'ttl-after-finished',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () =>
      jobs
        .list()
        .filter((job) => timeToLiveMs(job, clock.now()) !== undefined)
        .map(keyOf),
    wake: (enqueue) => [
      jobs.onChange(({ key, object }) => {
        if (object !== undefined && timeToLiveMs(object, clock.now()) !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const job = jobs.get(parseKey(key));
      const leftMs = job === undefined ? undefined : timeToLiveMs(job, clock.now());
      if (job === undefined || leftMs === undefined) return {};
      if (leftMs > 0) return { requeueAfterMs: leftMs };
      await removeIfDue(context, job);
      return {};
    },
  };
}
