import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JOBS, type Job, PODS, type Pod } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { conflict } from '@holdfast/machinery';
import fc from 'fast-check';
import { uidOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { REFUSED_WRITE_RECHECK_MS } from '../../limits.ts';
import { job } from '../../testing/builders.ts';
import { DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { isTracked } from './facts.ts';
import { jobController } from './index.ts';
import { activePods, endPods, indexed, isOver, theJob, worldOf, worldWith } from './testing.ts';

/** The real results of the pods, recorded at the store: each uid once. */
class Truth {
  readonly #ended = new Map<string, 'Succeeded' | 'Failed'>();

  look(world: World): void {
    for (const pod of world.api.list(PODS)) {
      const { phase } = pod.status;
      if (phase === 'Succeeded' || phase === 'Failed') this.#ended.set(uidOf(pod), phase);
    }
  }

  count(phase: 'Succeeded' | 'Failed'): number {
    return [...this.#ended.values()].filter((each) => each === phase).length;
  }
}

function noMoreThan(truth: Truth, { status }: Job): void {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted } = status;
  assert.ok(succeeded + (uncounted?.succeeded ?? []).length <= truth.count('Succeeded'), 'no success counted twice');
  assert.ok(failed + (uncounted?.failed ?? []).length <= truth.count('Failed'), 'no failure counted twice');
}

test('no pod is lost or counted twice, at whichever write the manager crashes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 30 }), counts: fc.boolean() }), { maxLength: 5 }),
      fc.array(fc.constantFrom(0, 0, 1), { minLength: 12, maxLength: 12 }),
      fc.boolean(),
      async (crashes, codes, isIndexed) => {
        const spec = isIndexed ? indexed(4, { parallelism: 2 }) : { completions: 4, parallelism: 2 };
        const { world, controller } = await worldWith({ ...spec, backoffLimit: 20 });
        const truth = new Truth();
        let running = controller;
        let [writes, ends] = [0, 0];
        let isDead = false;
        const die = (counts: boolean): void => {
          if (isDead) throw new TransportError('the process is gone');
          isDead = crashes.some((crash) => crash.at === writes && crash.counts === counts);
          if (isDead) throw new TransportError('the process dies here');
        };
        world.api.beforeWrite = () => {
          writes++;
          die(false);
        };
        world.api.afterWrite = () => {
          if (!isDead) die(true);
        };
        for (let round = 0; round < 60 && !isOver(world); round++) {
          await settleAll([running], () => isDead);
          noMoreThan(truth, theJob(world));
          if (isDead) {
            running.kill();
            isDead = false;
            running = new DrivenController(world, jobController);
            continue;
          }
          runKubelets(world);
          endPods(world, () => codes[ends++] ?? 0);
          truth.look(world);
          world.clock.skip(400_000);
        }
        const { status } = theJob(world);
        assert.ok(isOver(world), 'the Job ends');
        assert.deepEqual([status.succeeded ?? 0, status.failed ?? 0], [4, truth.count('Failed')]);
        assert.equal(truth.count('Succeeded'), 4);
        assert.deepEqual(world.api.list(PODS).filter(isTracked), []);
        for (const write of world.api.writes) assert.notEqual(write.request?.gracePeriodSeconds, 0);
      },
    ),
    { numRuns: 150 },
  );
});

const anyRound = fc.record({
  pods: fc.constantFrom('frozen', 'one step', 'current'),
  jobs: fc.constantFrom('frozen', 'current', 'current'),
  endsFirst: fc.boolean(),
  turns: fc.array(fc.constantFrom('current', 'late'), { maxLength: 3 }),
  clears: fc.boolean(),
});

for (const managers of [1, 2]) {
  test(`stale caches lose no count and start no extra pod: ${managers} managers`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRound, { maxLength: 12 }), async (rounds) => {
        const { world, controller } = await worldWith({ completions: 3, parallelism: 2, backoffLimit: 100 });
        const truth = new Truth();
        const informers = world.api.newInformers();
        const [pods, jobs] = [informers.of(PODS), informers.of(JOBS)];
        const late = new DrivenController(world, jobController, informers);
        const end = (): void => {
          runKubelets(world);
          endPods(world, (pod) => (uidOf(pod).endsWith('3') ? 1 : 0));
          truth.look(world);
          world.clock.skip(400_000);
        };
        const settle = async (who: string): Promise<void> => {
          if (who === 'late') await late.settle();
          else if (managers === 2) await controller.settle();
          noMoreThan(truth, theJob(world));
          if (managers === 1) assert.ok(activePods(world).length <= 2, 'no pod too many');
        };
        for (const round of rounds) {
          if (round.endsFirst) end();
          if (round.pods === 'one step') pods.thaw(1);
          else if (round.pods === 'current') pods.thaw();
          else pods.freeze();
          if (round.jobs === 'current') jobs.thaw();
          else jobs.freeze();
          for (const who of round.turns) await settle(who);
          if (round.clears) dropCounted(world);
          if (!round.endsFirst) end();
        }
        pods.thaw();
        jobs.thaw();
        for (let round = 0; round < 40 && !isOver(world); round++) {
          await settleAll(managers === 2 ? [controller, late] : [late]);
          end();
          noMoreThan(truth, theJob(world));
        }
        const { status } = theJob(world);
        assert.ok(isOver(world), 'the Job ends');
        assert.deepEqual(
          [status.succeeded ?? 0, status.failed ?? 0],
          [truth.count('Succeeded'), truth.count('Failed')],
        );
      }),
      { numRuns: 200 },
    );
  });
}

for (const clears of [false, true]) {
  const what = clears ? ', not even one that is gone by now' : '';
  test(`[SAFE-24] a second manager whose cache shows a counted pod as not counted does not count it again${what}`, () =>
    countOnce(clears));
}

async function countOnce(clears: boolean): Promise<void> {
  const { world, controller } = await worldWith({ completions: 2, parallelism: 2 });
  await controller.settle();
  const informers = world.api.newInformers();
  informers.of(PODS);
  runKubelets(world);
  const [first] = activePods(world);
  endPods(world, (pod) => (pod === first ? 0 : undefined));
  informers.of(PODS).freeze();
  await controller.settle();
  if (clears) dropCounted(world);
  const late = new DrivenController(world, jobController, informers);
  await late.settle();
  assert.deepEqual([theJob(world).status.succeeded, theJob(world).status.uncountedTerminatedPods], [1, {}]);
  assert.equal(activePods(world).length, 1, 'and it starts nobody');
  informers.of(PODS).thaw();
  await settleAll([controller, late]);
  assert.equal(theJob(world).status.succeeded, 1);
}

/** A user clears finished pods away: what is counted may go. */
function dropCounted(world: World): void {
  for (const pod of world.api.list(PODS)) {
    if (!isActive(pod) && !isTracked(pod)) {
      world.api.drop(PODS, { namespace: 'default', name: pod.metadata.name ?? '' });
    }
  }
}

test('ten thousand pods: passes, writes and reads stay proportional', async () => {
  const size = 10_000;
  const of = await worldOf(job({ completions: size, parallelism: size }));
  const { world, controller } = of;
  const cache = world.api.cache(PODS);
  let looks = 0;
  const byIndex = cache.byIndex.bind(cache);
  cache.byIndex = (index, value) => {
    const found = byIndex(index, value);
    looks += found.length;
    return found;
  };
  const settle = async (until: () => boolean): Promise<void> => {
    for (let round = 0; round < 400 && !until(); round++) {
      await controller.settle();
      world.clock.skip(1_000);
    }
    assert.ok(until());
  };
  await settle(() => world.api.list(PODS).length === size);
  runKubelets(world);
  endPods(world, () => 0);
  await settle(() => isOver(world));
  assert.equal(theJob(world).status.succeeded, size);
  const statusWrites = world.api.writes.filter(({ verb }) => verb === 'updateStatus').length;
  assert.ok(statusWrites < 150, `${statusWrites} status writes`);
  assert.ok(looks < 200 * size, `${looks / size} looks at each pod`);
});

test('the same input gives the same pods in every process', async () => {
  const names = async (): Promise<readonly string[]> => {
    const of = await worldWith({ completions: 3, parallelism: 3 });
    await of.controller.settle();
    return of.world.api.list(PODS).map(({ metadata }: Pod) => metadata.name ?? '');
  };
  assert.deepEqual(await names(), await names());
});

test('a status that is refused as a conflict without a change, as by a webhook, is stored soon after', async () => {
  const { world, controller } = await worldWith();
  let refusals = 0;
  world.api.beforeWrite = ({ verb }) => {
    if (verb !== 'updateStatus' || refusals++ > 0) return;
    throw conflict({ group: 'batch', resource: 'jobs', name: 'task' }, 'refused');
  };
  await controller.settle();
  assert.deepEqual([refusals, world.api.list(PODS)], [1, []]);
  world.clock.skip(REFUSED_WRITE_RECHECK_MS);
  await controller.settle();
  assert.equal(world.api.list(PODS).length, 1);
  assert.deepEqual(controller.errors, []);
});
