import { CRON_JOBS, type CronJob, JOBS } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { controllerOf, keyOf, parseKey, toTarget, uidOf } from '../../common/meta.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply } from './apply.ts';
import { type CronJobSnapshot, decide } from './decide.ts';
import { Schedules } from './schedule.ts';

export const cronJobController: ControllerDefinition = {
  name: 'cronjob',
  component: 'cronjob-controller',
  identity: 'manager',
  watches: [CRON_JOBS, JOBS],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const cronJobs = context.informers.of(CRON_JOBS);
  const schedules = new Schedules();
  return {
    name: 'cronjob',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => cronJobs.list().map(keyOf),
    wake: (enqueue) => [
      cronJobs.onChange(({ key }) => enqueue(key)),
      context.informers.of(JOBS).onChange(({ object, old }) => {
        const job = object ?? old;
        const controller = job === undefined ? undefined : controllerOf(job);
        if (controller?.kind !== 'CronJob') return;
        enqueue(keyOf({ metadata: toTarget(job?.metadata.namespace ?? '', controller.name) }));
      }),
    ],
    reconcile: async (key) => {
      const cronJob = cronJobs.get(parseKey(key));
      if (cronJob === undefined) return {};
      const decision = decide(await observe(context, schedules, cronJob), context.clock.now());
      await apply(context, cronJob, decision);
      return decision.lookAgainMs === undefined ? {} : { requeueAfterMs: decision.lookAgainMs };
    },
  };
}

async function observe(context: ControllerContext, schedules: Schedules, cronJob: CronJob): Promise<CronJobSnapshot> {
  const jobs = context.informers.of(JOBS).byIndex('controller', uidOf(cronJob));
  const { schedule, timeZone } = cronJob.spec;
  return {
    cronJob,
    jobs,
    unseen: await unseenActive(context, cronJob, new Set(jobs.map(uidOf))),
    schedule: await schedules.of(schedule, timeZone),
  };
}

/** Only the API can tell whether an active Job that the cache lacks is gone or too new for the cache. */
async function unseenActive(
  { client }: ControllerContext,
  cronJob: CronJob,
  seen: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const missing = (cronJob.status.active ?? []).filter(({ uid = '' }) => !seen.has(uid));
  const found = await Promise.all(
    missing.map(async ({ namespace = '', name = '', uid = '' }) => {
      const live = await client.find(JOBS, toTarget(namespace, name));
      return live !== undefined && uidOf(live) === uid ? uid : undefined;
    }),
  );
  return new Set(found.filter((uid) => uid !== undefined));
}
