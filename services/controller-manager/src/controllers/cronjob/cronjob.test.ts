import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRON_JOBS, type CronJob, JOBS, type Job } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { formatTime } from '@holdfast/platform';
import fc from 'fast-check';
import { controllerOf, controllerReference, nameOf } from '../../common/meta.ts';
import { cronJob, job } from '../../testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { cronJobController } from './index.ts';

const TICK = { namespace: 'default', name: 'tick' };
const MINUTE = 60_000;

interface Ticking {
  readonly world: World;
  readonly controller: DrivenController;
}

async function worldWith(spec: Partial<CronJob['spec']> = {}): Promise<Ticking> {
  const world = createWorld();
  await world.api.client('user').create(CRON_JOBS, cronJob(spec));
  const controller = new DrivenController(world, cronJobController);
  await controller.settle();
  return { world, controller };
}

async function pass({ world, controller }: Ticking, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    world.clock.skip(MINUTE);
    await controller.settle();
  }
}

function end(world: World, name: string, type: 'Complete' | 'Failed' = 'Complete'): void {
  const found = world.api.get(JOBS, { namespace: 'default', name });
  const time = formatTime(world.clock.now());
  const status = {
    startTime: found.metadata.creationTimestamp ?? '',
    conditions: [{ type, status: 'True', lastTransitionTime: time }],
    ...(type === 'Complete' ? { completionTime: time } : {}),
  };
  world.api.put(JOBS, { ...found, status });
}

const jobs = (world: World): readonly Job[] =>
  [...world.api.list(JOBS)].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
const names = (world: World): readonly string[] => jobs(world).map(nameOf);
const status = (world: World): CronJob['status'] => world.api.get(CRON_JOBS, TICK).status;
const events = (world: World): readonly string[] => world.api.events.map(({ reason }) => reason);
const running = (world: World): number =>
  jobs(world).filter(({ status: { conditions = [] } }) => conditions.length === 0).length;
const edit = (world: World, spec: Partial<CronJob['spec']>): void => {
  const old = world.api.get(CRON_JOBS, TICK);
  world.api.put(CRON_JOBS, { ...old, spec: { ...old.spec, ...spec } });
};

test('starts one Job per time of its schedule, named after it, and keeps its books', async () => {
  const of = await worldWith({
    jobTemplate: { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec: job().spec },
  });
  await pass(of, 4);
  assert.deepEqual(jobs(of.world), []);
  await pass(of, 1);
  const [first] = jobs(of.world);
  assert.ok(first);
  assert.equal(nameOf(first), 'tick-29453765');
  assert.equal(controllerOf(first)?.kind, 'CronJob');
  assert.deepEqual(first.metadata.labels, { a: 'b' });
  assert.deepEqual(first.metadata.annotations, {
    c: 'd',
    'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T00:05:00Z',
  });
  assert.deepEqual(
    [status(of.world).lastScheduleTime, status(of.world).active?.map(({ name }) => name)],
    ['2026-01-01T00:05:00Z', ['tick-29453765']],
  );
  end(of.world, nameOf(first));
  await of.controller.settle();
  assert.deepEqual(status(of.world), {
    lastScheduleTime: '2026-01-01T00:05:00Z',
    lastSuccessfulTime: '2026-01-01T00:05:00Z',
  });
  assert.deepEqual(events(of.world), ['SuccessfulCreate', 'SawCompletedJob']);
  await pass(of, 10);
  assert.equal(jobs(of.world).length, 3);
});

test('the timestamp of a Job uses its time zone', async () => {
  const of = await worldWith({ timeZone: 'Asia/Kolkata' });
  await pass(of, 5);
  assert.equal(
    jobs(of.world)[0]?.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
    '2026-01-01T05:35:00+05:30',
  );
});

test('Allow runs Jobs concurrently, Forbid skips with an event, Replace deletes the old Job first', async () => {
  const side = await worldWith({ concurrencyPolicy: 'Allow' });
  await pass(side, 15);
  assert.equal(running(side.world), 3);
  const forbid = await worldWith({ concurrencyPolicy: 'Forbid' });
  await pass(forbid, 11);
  assert.deepEqual([names(forbid.world).length, events(forbid.world).includes('JobAlreadyActive')], [1, true]);
  end(forbid.world, names(forbid.world)[0] ?? '');
  await forbid.controller.settle();
  assert.equal(running(forbid.world), 1, 'the latest missed time is made up for');
  const replace = await worldWith({ concurrencyPolicy: 'Replace' });
  await pass(replace, 5);
  const [old] = names(replace.world);
  await pass(replace, 5);
  assert.equal(names(replace.world).length, 1);
  assert.notEqual(names(replace.world)[0], old);
  assert.deepEqual(
    status(replace.world).active?.map(({ name }) => name),
    names(replace.world),
  );
});

test('missed times: only the latest is started, within the deadline, and many cause a warning', async () => {
  const of = await worldWith();
  of.world.clock.skip(9 * 3_600_000 + MINUTE);
  await of.controller.settle();
  assert.deepEqual(names(of.world), ['tick-29454300']);
  assert.deepEqual(events(of.world).slice(0, 2), ['TooManyMissedTimes', 'SuccessfulCreate']);
  const late = await worldWith({ startingDeadlineSeconds: 60 });
  late.world.clock.skip(8 * MINUTE);
  await late.controller.settle();
  assert.deepEqual(jobs(late.world), []);
  assert.deepEqual(events(late.world), ['MissSchedule']);
  await pass(late, 2);
  assert.equal(jobs(late.world).length, 1);
});

test('a suspended CronJob starts nothing; finished Jobs are still recorded', async () => {
  const of = await worldWith();
  await pass(of, 5);
  edit(of.world, { suspend: true });
  await pass(of, 20);
  assert.equal(jobs(of.world).length, 1);
  end(of.world, names(of.world)[0] ?? '');
  await of.controller.settle();
  assert.equal(status(of.world).active, undefined);
  edit(of.world, { suspend: false });
  await of.controller.settle();
  assert.equal(jobs(of.world).length, 2);
});

test('the oldest finished Jobs beyond the history limit are deleted', async () => {
  const of = await worldWith({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 });
  for (let round = 0; round < 8; round++) {
    await pass(of, 5);
    const last = names(of.world).at(-1) ?? '';
    end(of.world, last, round % 2 === 0 ? 'Complete' : 'Failed');
    await of.controller.settle();
  }
  const ends = jobs(of.world).map(({ status: { conditions } }) => conditions?.[0]?.type);
  assert.deepEqual(ends, ['Complete', 'Complete', 'Failed']);
  assert.deepEqual(names(of.world), ['tick-29453785', 'tick-29453795', 'tick-29453800']);
});

test('a Job of a user is reported and blocks nothing; a vanished Job is detected', async () => {
  const of = await worldWith({ concurrencyPolicy: 'Forbid' });
  const reference = controllerReference(of.world.api.get(CRON_JOBS, TICK), { apiVersion: 'batch/v1', kind: 'CronJob' });
  of.world.api.put(JOBS, job({}, { name: 'by-hand', ownerReferences: [reference] }));
  await of.controller.settle();
  assert.deepEqual([events(of.world), status(of.world).active], [['UnexpectedJob'], undefined]);
  await pass(of, 5);
  const started = names(of.world).find((name) => name !== 'by-hand') ?? '';
  assert.ok(started);
  of.world.api.drop(JOBS, { namespace: 'default', name: started });
  await of.controller.settle();
  assert.ok(events(of.world).includes('MissingJob'));
  assert.equal(status(of.world).active, undefined);
});

test('a cache without the last start does not repeat it, although the Job has finished and was removed', async () => {
  const { world, controller } = await worldWith();
  const informers = world.api.newInformers();
  informers.of(CRON_JOBS).freeze();
  const late = new DrivenController(world, cronJobController, informers);
  world.clock.skip(5 * MINUTE);
  await controller.settle();
  const [started = ''] = names(world);
  end(world, started);
  await controller.settle();
  world.api.drop(JOBS, { namespace: 'default', name: started });
  await late.settle();
  assert.deepEqual(names(world), []);
});

test('Forbid holds for a Job that a crashed manager did not record, and for one missing in the cache', async () => {
  const dead = await worldWith({ concurrencyPolicy: 'Forbid' });
  dead.world.api.beforeWrite = ({ verb }) => {
    if (verb === 'updateStatus') throw new TransportError('the process is gone');
  };
  dead.world.clock.skip(5 * MINUTE);
  await dead.controller.step();
  dead.controller.kill();
  dead.world.api.beforeWrite = () => {};
  dead.world.clock.skip(20 * MINUTE);
  const next = new DrivenController(dead.world, cronJobController);
  await next.settle();
  assert.deepEqual([names(dead.world).length, status(dead.world).active?.length], [1, 1]);
  const of = await worldWith({ concurrencyPolicy: 'Forbid' });
  of.world.api.cache(JOBS).freeze();
  await pass(of, 20);
  assert.deepEqual([names(of.world).length, status(of.world).active?.length], [1, 1]);
});

test('[SAFE-15] one Job per time, with a crash at any write, stale caches and two managers', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 25 }), counts: fc.boolean() }), { maxLength: 4 }),
      fc.array(fc.constantFrom('cronjobs', 'jobs', 'both', 'none'), { minLength: 8, maxLength: 8 }),
      async (crashes, stalls) => {
        const world = createWorld();
        await world.api
          .client('user')
          .create(CRON_JOBS, cronJob({ concurrencyPolicy: 'Forbid', schedule: '* * * * *' }));
        const created: string[] = [];
        let writes = 0;
        const hit = (counts: boolean): boolean =>
          crashes.some((crash) => crash.at === writes && crash.counts === counts);
        world.api.beforeWrite = () => {
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        world.api.afterWrite = ({ verb, resource, key }) => {
          if (verb === 'create' && resource === 'jobs') created.push(key);
          if (hit(true)) throw new TransportError('answer lost');
        };
        const informers = world.api.newInformers();
        const managers = [
          new DrivenController(world, cronJobController),
          new DrivenController(world, cronJobController, informers),
        ];
        for (const stall of stalls) {
          if (stall === 'cronjobs' || stall === 'both') informers.of(CRON_JOBS).freeze();
          if (stall === 'jobs' || stall === 'both') informers.of(JOBS).freeze();
          world.clock.skip(MINUTE);
          await settleAll(managers);
          assert.ok(running(world) <= 1, 'never two at once');
          informers.of(CRON_JOBS).thaw();
          informers.of(JOBS).thaw();
          await settleAll(managers);
          for (const name of names(world)) end(world, name);
          await settleAll(managers);
          assert.ok(running(world) <= 1);
        }
        assert.equal(new Set(created).size, created.length, 'no time twice');
        assert.deepEqual(status(world).active ?? [], []);
      },
    ),
    { numRuns: 40 },
  );
});
