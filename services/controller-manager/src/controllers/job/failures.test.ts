import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Job, PODS, type Pod } from '@holdfast/api';
import { nameOf } from '../../common/meta.ts';
import { jobTemplate } from '../../testing/builders.ts';
import { DrivenController } from '../../testing/harness.ts';
import { endPod, runKubelets } from '../../testing/kubelet-model.ts';
import { jobController } from './index.ts';
import {
  activePods,
  conditionsOf,
  ended,
  endPods,
  eventsOf,
  isOver,
  type JobWorld,
  theJob,
  work,
  worldWith,
} from './testing.ts';

/** Lets the running pod fail and answers after how many seconds the next one is there. */
async function secondsUntilReplaced({ world, controller }: JobWorld): Promise<number> {
  runKubelets(world);
  endPods(world, () => 1);
  await controller.settle();
  for (let seconds = 0; seconds <= 700; seconds++) {
    if (activePods(world).length > 0) return seconds;
    world.clock.skip(1_000);
    await controller.settle();
  }
  return Number.POSITIVE_INFINITY;
}

test('[POD-13] after each failure the back-off doubles, up to ten minutes, and a success resets it', async () => {
  const of = await worldWith({ completions: 2, backoffLimit: 20 });
  await of.controller.settle();
  const waits: number[] = [];
  for (let failure = 0; failure < 8; failure++) waits.push(await secondsUntilReplaced(of));
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 600, 600]);
  runKubelets(of.world);
  endPods(of.world, () => 0);
  await of.controller.settle();
  assert.equal(activePods(of.world).length, 1);
  of.world.clock.skip(1_000);
  assert.equal(await secondsUntilReplaced(of), 10);
});

test('a restarted manager keeps the back-off of the one before it', async () => {
  const of = await worldWith({ backoffLimit: 20 });
  await of.controller.settle();
  for (let failure = 0; failure < 3; failure++) await secondsUntilReplaced(of);
  of.controller.kill();
  const next = { world: of.world, controller: new DrivenController(of.world, jobController) };
  assert.equal(await secondsUntilReplaced(next), 80);
});

test('one failure beyond the limit ends the Job: FailureTarget first, Failed when the last pod is gone', async () => {
  const of = await worldWith({ backoffLimit: 1, completions: 3, parallelism: 3 });
  await of.controller.settle();
  runKubelets(of.world);
  const [first, second] = activePods(of.world);
  assert.ok(first && second);
  endPod(of.world, first, 1);
  endPod(of.world, second, 1);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), ['FailureTarget=True BackoffLimitExceeded']);
  assert.equal(theJob(of.world).status.terminating, 1);
  runKubelets(of.world);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Failed BackoffLimitExceeded');
  const { status } = theJob(of.world);
  assert.deepEqual([status.failed, status.terminating, status.uncountedTerminatedPods], [3, 0, {}]);
  assert.equal(status.conditions?.at(-1)?.message, 'Job has reached the specified backoff limit');
  assert.equal(eventsOf(of.world).at(-1), 'BackoffLimitExceeded');
  await of.controller.settle();
  assert.deepEqual(activePods(of.world), []);
});

test('restarts in place count towards the limit', async () => {
  const of = await worldWith({ backoffLimit: 3, template: jobTemplate('OnFailure') });
  await of.controller.settle();
  const restarted = (times: number): void => {
    const [pod] = activePods(of.world);
    assert.ok(pod);
    const status = { name: 'main', image: '', imageID: '', ready: true, restartCount: times, state: {}, lastState: {} };
    of.world.api.put(PODS, { ...pod, status: { phase: 'Running', containerStatuses: [status] } });
  };
  restarted(2);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), []);
  restarted(3);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Failed BackoffLimitExceeded');
});

const exitRule = (action: string, operator: string, values: number[], containerName?: string): object => ({
  action,
  onExitCodes: { operator, values, ...(containerName === undefined ? {} : { containerName }) },
});
const withRules = (...rules: readonly object[]): Partial<Job['spec']> => ({
  podFailurePolicy: JSON.parse(JSON.stringify({ rules })),
  podReplacementPolicy: 'Failed',
  backoffLimit: 0,
});

async function failOnce(spec: Partial<Job['spec']>, exitCode: number): Promise<JobWorld> {
  const of = await worldWith(spec);
  await of.controller.settle();
  runKubelets(of.world);
  endPods(of.world, () => exitCode);
  await of.controller.settle();
  return of;
}

test('failure policy: the first rule that matches the exit code decides', async () => {
  const rules = withRules(
    exitRule('Ignore', 'In', [42]),
    exitRule('FailJob', 'In', [7, 8], 'main'),
    exitRule('Count', 'NotIn', [9]),
  );
  const ignored = await failOnce(rules, 42);
  assert.deepEqual([isOver(ignored.world), theJob(ignored.world).status.failed], [false, undefined]);
  const fatal = await failOnce(rules, 8);
  assert.equal(ended(theJob(fatal.world)), 'Failed PodFailurePolicy');
  const [pod] = fatal.world.api.list(PODS);
  assert.ok(pod);
  assert.equal(
    theJob(fatal.world).status.conditions?.[0]?.message,
    `Container main for pod default/${nameOf(pod)} failed with exit code 8 matching FailJob rule at index 1`,
  );
  const counted = await failOnce(rules, 1);
  assert.equal(ended(theJob(counted.world)), 'Failed BackoffLimitExceeded');
});

test('[DISR-33] failure policy: a disrupted pod is replaced without being counted', async () => {
  const of = await worldWith(
    withRules({ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }),
  );
  await of.controller.settle();
  runKubelets(of.world);
  const disrupt = (pod: Pod): void => {
    endPod(of.world, pod, 137);
    const failed = of.world.api.get(PODS, { namespace: 'default', name: nameOf(pod) });
    const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }];
    of.world.api.put(PODS, { ...failed, status: { ...failed.status, conditions } });
  };
  const [first] = activePods(of.world);
  assert.ok(first);
  disrupt(first);
  of.world.clock.skip(20_000);
  await of.controller.settle();
  assert.equal(activePods(of.world).length, 1);
  await work(of);
  assert.deepEqual(
    [ended(theJob(of.world)), theJob(of.world).status.failed],
    ['Complete CompletionsReached', undefined],
  );
});

test('[SIDE-08] a sidecar killed at the end does not prevent the Job from completing', async () => {
  const template = jobTemplate();
  const sidecar = { name: 'proxy', image: 'proxy:1', resources: {}, restartPolicy: 'Always' };
  const of = await worldWith({ template: { ...template, spec: { ...template.spec, initContainers: [sidecar] } } });
  await of.controller.settle();
  runKubelets(of.world);
  const [pod] = activePods(of.world);
  assert.ok(pod);
  endPod(of.world, pod, 0);
  const done = of.world.api.get(PODS, { namespace: 'default', name: nameOf(pod) });
  const killed = { terminated: { exitCode: 137, reason: 'Error', startedAt: '', finishedAt: '' } };
  const status = { name: 'proxy', image: '', imageID: '', ready: false, restartCount: 0, state: killed, lastState: {} };
  of.world.api.put(PODS, { ...done, status: { ...done.status, initContainerStatuses: [status] } });
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Complete CompletionsReached');
});
