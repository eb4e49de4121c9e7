import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JOBS, PODS } from '@holdfast/api';
import { controllerOf, isControlledBy, isTerminating, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { job, jobTemplate, pod } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { endPod, runKubelets } from '../../testing/kubelet-model.ts';
import { TRACKING_FINALIZER } from './facts.ts';
import { jobController } from './index.ts';
import {
  activePods,
  conditionsOf,
  editJob,
  ended,
  endPods,
  eventsOf,
  isOver,
  TASK,
  theJob,
  work,
  workQueue,
  worldOf,
  worldWith,
} from './testing.ts';

test('[POD-14] one pod runs to completion and the status of the Job follows it', async () => {
  const of = await worldWith();
  await of.controller.settle();
  const [first] = of.world.api.list(PODS);
  assert.ok(first);
  assert.deepEqual(first.metadata.finalizers, [TRACKING_FINALIZER]);
  assert.equal(controllerOf(first)?.kind, 'Job');
  assert.match(nameOf(first), /^task-[a-z0-9]{5}$/);
  runKubelets(of.world);
  await of.controller.settle();
  const { startTime, ...running } = theJob(of.world).status;
  assert.ok(startTime);
  assert.deepEqual(running, { active: 1, ready: 1, terminating: 0, uncountedTerminatedPods: {} });
  await work(of);
  const { status } = theJob(of.world);
  assert.deepEqual(
    [status.active, status.succeeded, status.failed, status.ready, status.terminating, status.uncountedTerminatedPods],
    [undefined, 1, undefined, 0, 0, {}],
  );
  assert.deepEqual(conditionsOf(of.world), [
    'SuccessCriteriaMet=True CompletionsReached',
    'Complete=True CompletionsReached',
  ]);
  assert.equal(status.conditions?.[1]?.message, 'Reached expected number of succeeded pods');
  assert.ok(status.completionTime);
  assert.deepEqual(eventsOf(of.world), ['SuccessfulCreate', 'Completed']);
  assert.equal(of.world.api.list(PODS)[0]?.metadata.finalizers, undefined);
});

test('[EXP-02] the Job of the example creates a pod from its template, and is complete when it has succeeded', async () => {
  const template = jobTemplate();
  const container = {
    name: 'hello',
    image: 'busybox:1.28',
    command: ['sh', '-c', 'echo "Hello, Kubernetes!" && sleep 3600'],
  };
  const spec = { ...template.spec, containers: [{ ...container, resources: {} }], restartPolicy: 'OnFailure' };
  const of = await worldWith({ template: { ...template, spec } });
  await of.controller.settle();
  const [made, ...more] = of.world.api.list(PODS);
  assert.deepEqual(more, []);
  assert.deepEqual([made?.spec.containers, made?.spec.restartPolicy], [spec.containers, 'OnFailure']);
  runKubelets(of.world);
  of.world.clock.skip(3_600_000);
  await of.controller.settle();
  assert.deepEqual([ended(theJob(of.world)), theJob(of.world).status.active], ['', 1], 'it runs for an hour');
  endPods(of.world, () => 0);
  await of.controller.settle();
  assert.deepEqual([ended(theJob(of.world)), theJob(of.world).status.succeeded], ['Complete CompletionsReached', 1]);
});

test('the number of active pods exceeds neither parallelism nor the missing completions', async () => {
  const of = await worldWith({ completions: 7, parallelism: 3 });
  const seen = new Set<number>();
  await work(
    of,
    () => 0,
    () => {
      const active = activePods(of.world).length;
      seen.add(active);
      assert.ok(active <= Math.min(3, 7 - (theJob(of.world).status.succeeded ?? 0)));
    },
  );
  assert.deepEqual([theJob(of.world).status.succeeded, seen.has(3)], [7, true]);
});

test('a work queue: after the first success no pod is added, and the Job is complete when all have finished', async () => {
  const of = await worldOf(workQueue(3));
  await of.controller.settle();
  runKubelets(of.world);
  const [first, second, third] = activePods(of.world);
  assert.ok(first && second && third);
  endPod(of.world, first, 0);
  await of.controller.settle();
  assert.equal(activePods(of.world).length, 2);
  endPod(of.world, second, 1);
  of.world.clock.skip(60_000);
  await of.controller.settle();
  assert.deepEqual([activePods(of.world).length, isOver(of.world)], [1, false]);
  endPod(of.world, third, 0);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Complete CompletionsReached');
  assert.deepEqual([theJob(of.world).status.succeeded, theJob(of.world).status.failed], [2, 1]);
});

test('a Job with zero completions is complete at once, without a pod', async () => {
  const of = await worldWith({ completions: 0 });
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Complete CompletionsReached');
  assert.deepEqual(of.world.api.list(PODS), []);
});

test('suspended: no pod and no start time; resumed: it restarts; suspended while running: its pods are deleted', async () => {
  const of = await worldWith({ suspend: true });
  await of.controller.settle();
  assert.deepEqual(of.world.api.list(PODS), []);
  assert.equal(theJob(of.world).status.startTime, undefined);
  assert.deepEqual(conditionsOf(of.world), ['Suspended=True JobSuspended']);
  of.world.clock.skip(60_000);
  editJob(of.world, { suspend: false });
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), ['Suspended=False JobResumed']);
  assert.equal(theJob(of.world).status.startTime, '2026-01-01T00:01:00Z');
  runKubelets(of.world);
  editJob(of.world, { suspend: true });
  await of.controller.settle();
  assert.deepEqual(activePods(of.world), []);
  assert.equal(theJob(of.world).status.terminating, 1);
  runKubelets(of.world);
  await of.controller.settle();
  assert.deepEqual(of.world.api.list(PODS), []);
  assert.deepEqual([theJob(of.world).status.terminating, theJob(of.world).status.failed], [0, 1]);
  assert.deepEqual(eventsOf(of.world), ['Suspended', 'Resumed', 'SuccessfulCreate', 'Suspended', 'SuccessfulDelete']);
  of.world.clock.skip(60_000);
  editJob(of.world, { suspend: false });
  await work(of);
  assert.equal(theJob(of.world).status.succeeded, 1);
  assert.equal(theJob(of.world).status.startTime, '2026-01-01T00:02:00Z');
});

test('a Job with zero completions completes although it is suspended, and a finished one has a start time', async () => {
  const of = await worldWith({ completions: 0, suspend: true });
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Complete CompletionsReached');
  assert.equal(theJob(of.world).status.startTime, '2026-01-01T00:00:00Z');
});

test('a deadline ends the Job and its pods, and is paused while it is suspended', async () => {
  const of = await worldWith({ activeDeadlineSeconds: 30, suspend: true });
  await of.controller.settle();
  of.world.clock.skip(3_600_000);
  editJob(of.world, { suspend: false });
  await of.controller.settle();
  runKubelets(of.world);
  of.world.clock.skip(29_000);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), ['Suspended=False JobResumed']);
  of.world.clock.skip(1_000);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world).slice(1), ['FailureTarget=True DeadlineExceeded']);
  assert.ok(of.world.api.list(PODS).every(isTerminating));
  runKubelets(of.world);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Failed DeadlineExceeded');
  assert.equal(eventsOf(of.world).at(-1), 'DeadlineExceeded');
  assert.equal(theJob(of.world).status.completionTime, undefined);
});

test('parallelism can grow, shrink and become zero', async () => {
  const of = await worldWith({ completions: 10, parallelism: 2 });
  for (const parallelism of [2, 5, 1, 0, 3]) {
    editJob(of.world, { parallelism });
    await of.controller.settle();
    runKubelets(of.world);
    await of.controller.settle();
    assert.equal(activePods(of.world).length, parallelism);
  }
});

test('a Job with another manager is ignored', async () => {
  const of = await worldWith({ managedBy: 'example.com/queue' });
  await of.controller.settle();
  assert.deepEqual([of.world.api.list(PODS).length, theJob(of.world).status], [0, {}]);
  const own = await worldWith({ managedBy: 'kubernetes.io/job-controller' });
  await own.controller.settle();
  assert.equal(own.world.api.list(PODS).length, 1);
});

test('a matching orphan is adopted and counted; a pod that no longer matches is released untracked', async () => {
  const of = await worldWith({ completions: 2, parallelism: 2 });
  const labels = jobTemplate().metadata.labels ?? {};
  of.world.api.put(PODS, pod({ name: 'stray', labels }, { phase: 'Running' }, { nodeName: 'n' }));
  await of.controller.settle();
  const stray = of.world.api.get(PODS, { namespace: 'default', name: 'stray' });
  assert.ok(isControlledBy(stray, uidOf(theJob(of.world))));
  assert.deepEqual(stray.metadata.finalizers, [TRACKING_FINALIZER]);
  assert.equal(of.world.api.list(PODS).length, 2);
  of.world.api.put(PODS, { ...stray, metadata: { ...stray.metadata, labels: { app: 'debug' } } });
  await of.controller.settle();
  const released = of.world.api.get(PODS, { namespace: 'default', name: 'stray' });
  assert.deepEqual([released.metadata.ownerReferences, released.metadata.finalizers], [undefined, undefined]);
  assert.equal(activePods(of.world).length, 3);
});

test('pods of a deleted Job lose their tracking finalizer', async () => {
  const of = await worldWith({ completions: 2, parallelism: 2 });
  await of.controller.settle();
  runKubelets(of.world);
  of.world.api.drop(JOBS, TASK);
  await of.controller.settle();
  assert.deepEqual(
    of.world.api.list(PODS).map(({ metadata }) => metadata.finalizers),
    [undefined, undefined],
  );
});

test('a restarted manager releases pods whose Job vanished while it was down, and none of a Job missing in its cache', async () => {
  const of = await worldWith();
  await of.controller.settle();
  of.controller.kill();
  of.world.api.drop(JOBS, TASK);
  const next = new DrivenController(of.world, jobController);
  await next.settle();
  assert.equal(of.world.api.list(PODS)[0]?.metadata.finalizers, undefined);
  next.kill();
  const world = createWorld();
  const informers = world.api.newInformers();
  informers.of(JOBS).freeze();
  await world.api.client('user').create(JOBS, job());
  await new DrivenController(world, jobController).settle();
  await new DrivenController(world, jobController, informers).settle();
  assert.deepEqual(activePods(world)[0]?.metadata.finalizers, [TRACKING_FINALIZER]);
});

test('a terminating pod that loses its labels loses its tracking finalizer', async () => {
  const of = await worldWith();
  await of.controller.settle();
  runKubelets(of.world);
  const [first] = activePods(of.world);
  assert.ok(first);
  await of.world.api.client('user').delete(PODS, targetOf(first));
  const ending = of.world.api.get(PODS, targetOf(first));
  of.world.api.put(PODS, { ...ending, metadata: { ...ending.metadata, labels: {} } });
  await of.controller.settle();
  assert.equal(of.world.api.get(PODS, targetOf(first)).metadata.finalizers, undefined);
});

test('a pod terminated with its Job has failed, although the Job would have waited for its end', async () => {
  const of = await worldWith({ activeDeadlineSeconds: 30, podReplacementPolicy: 'Failed' });
  await of.controller.settle();
  runKubelets(of.world);
  of.world.clock.skip(30_000);
  await of.controller.settle();
  runKubelets(of.world);
  await of.controller.settle();
  assert.deepEqual([ended(theJob(of.world)), theJob(of.world).status.failed], ['Failed DeadlineExceeded', 1]);
});

test('a Job that is being deleted starts no pod and holds none', async () => {
  const of = await worldWith({ completions: 3, parallelism: 2 });
  await of.controller.settle();
  runKubelets(of.world);
  await of.world.api.client('user').delete(JOBS, TASK, { propagationPolicy: 'Foreground' });
  await of.controller.settle();
  assert.equal(of.world.api.list(PODS).length, 2);
  assert.deepEqual(
    of.world.api.list(PODS).map(({ metadata }) => metadata.finalizers),
    [undefined, undefined],
  );
});

test('with replacement policy Failed a deleted pod is replaced when it has finished, otherwise at once', async () => {
  for (const [podReplacementPolicy, during] of [
    ['Failed', 0],
    ['TerminatingOrFailed', 1],
  ] as const) {
    const of = await worldWith({ podReplacementPolicy });
    await of.controller.settle();
    runKubelets(of.world);
    await of.controller.settle();
    const [first] = activePods(of.world);
    assert.ok(first);
    await of.world.api.client('user').delete(PODS, targetOf(first));
    await of.controller.settle();
    assert.equal(activePods(of.world).length, during, podReplacementPolicy);
    assert.equal(theJob(of.world).status.terminating, 1);
    runKubelets(of.world);
    of.world.clock.skip(20_000);
    await of.controller.settle();
    assert.equal(activePods(of.world).length, 1);
    assert.equal(theJob(of.world).status.failed, 1);
  }
});

test('more successes than requested are reported', async () => {
  const of = await worldWith({ completions: 2, parallelism: 2 });
  await of.controller.settle();
  const labels = jobTemplate().metadata.labels ?? {};
  of.world.api.put(PODS, pod({ name: 'stray', labels }, { phase: 'Running' }, { nodeName: 'n' }));
  runKubelets(of.world);
  endPods(of.world, () => 0);
  await of.controller.settle();
  assert.equal(theJob(of.world).status.succeeded, 3);
  assert.deepEqual(eventsOf(of.world).slice(-2), ['TooManySucceededPods', 'Completed']);
});
