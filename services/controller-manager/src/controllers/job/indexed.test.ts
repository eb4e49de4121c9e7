import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS } from '@holdfast/api';
import fc from 'fast-check';
import { nameOf } from '../../common/meta.ts';
import { endPod, runKubelets } from '../../testing/kubelet-model.ts';
import { IndexSet } from './indexes.ts';
import {
  activePods,
  conditionsOf,
  editJob,
  ended,
  endPods,
  indexed,
  indexText,
  podOfIndex,
  theJob,
  work,
  worldWith,
} from './testing.ts';

const anyIndexes = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 25 });

test('an index set behaves like a plain set', () => {
  fc.assert(
    fc.property(anyIndexes, anyIndexes, fc.integer({ min: 0, max: 12 }), (a, b, count) => {
      const plain = new Set([...a, ...b]);
      const set = IndexSet.of(a).with(b);
      assert.equal(set.size, plain.size);
      for (let index = 0; index <= 41; index++) assert.equal(set.has(index), plain.has(index));
      assert.equal(IndexSet.of(a).countOf(IndexSet.of(b)), a.filter((index) => b.includes(index)).length);
      assert.equal(IndexSet.parse(set.toString(), 100).toString(), set.toString());
      const missing = Array.from({ length: 30 }, (_, index) => index).filter((index) => !plain.has(index));
      assert.deepEqual(set.firstMissing(count, 30), missing.slice(0, count));
    }),
  );
});

test('indexes are written as single ones, pairs and ranges, and cut at the number of completions', () => {
  assert.equal(IndexSet.of([0, 2, 3, 5, 6, 7, 9]).toString(), '0,2,3,5-7,9');
  assert.equal(IndexSet.parse('0,2,3,5-7,9', 7).toString(), '0,2,3,5,6');
  assert.equal(IndexSet.parse(undefined, 7).toString(), '');
});

test('every index has one pod with its index in name, host name, label, annotation and variable', async () => {
  const of = await worldWith(indexed(3, { parallelism: 2 }));
  await of.controller.settle();
  assert.deepEqual(activePods(of.world).map(indexText), ['0', '1']);
  const pod = podOfIndex(of.world, 1);
  assert.match(nameOf(pod), /^task-1-[a-z0-9]{5}$/);
  assert.equal(pod.spec.hostname, 'task-1');
  assert.equal(pod.metadata.labels?.['batch.kubernetes.io/job-completion-index'], '1');
  assert.deepEqual(pod.spec.containers[0]?.env, [
    {
      name: 'JOB_COMPLETION_INDEX',
      valueFrom: {
        fieldRef: { apiVersion: 'v1', fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" },
      },
    },
  ]);
  await work(of);
  const { status } = theJob(of.world);
  assert.deepEqual([status.completedIndexes, status.succeeded, status.failedIndexes], ['0-2', 3, undefined]);
});

test('a failed index is retried under another name; other indexes continue', async () => {
  const of = await worldWith(indexed(3));
  let failures = 0;
  await work(of, (pod) => (indexText(pod) === '1' && failures++ < 2 ? 1 : 0));
  const { status } = theJob(of.world);
  assert.deepEqual(
    [ended(theJob(of.world)), status.completedIndexes, status.failed],
    ['Complete CompletionsReached', '0-2', 2],
  );
  assert.equal(new Set(of.world.api.list(PODS).map(nameOf)).size, 5);
});

test('a second pod of an index is stopped', async () => {
  const of = await worldWith(indexed(2));
  await of.controller.settle();
  runKubelets(of.world);
  const twin = podOfIndex(of.world, 0);
  of.world.api.put(PODS, { ...twin, metadata: { ...twin.metadata, name: 'task-0-twin', uid: 'uid-twin' } });
  await of.controller.settle();
  assert.deepEqual(activePods(of.world).map(indexText).sort(), ['0', '1']);
});

test('limit per index: an index fails on its own, and the Job when all others are done', async () => {
  const of = await worldWith(indexed(3, { backoffLimitPerIndex: 1, backoffLimit: 2_147_483_647 }));
  await work(of, (pod) => (indexText(pod) === '1' ? 1 : 0));
  const { status } = theJob(of.world);
  assert.equal(ended(theJob(of.world)), 'Failed FailedIndexes');
  assert.deepEqual([status.completedIndexes, status.failedIndexes, status.failed], ['0,2', '1', 2]);
  const failures = of.world.api
    .list(PODS)
    .filter((pod) => indexText(pod) === '1')
    .map(({ metadata }) => metadata.annotations?.['batch.kubernetes.io/job-index-failure-count']);
  assert.deepEqual(new Set(failures), new Set(['0', '1']));
});

test('limit per index: each index has its own back-off', async () => {
  const of = await worldWith(indexed(2, { backoffLimitPerIndex: 5, backoffLimit: 2_147_483_647 }));
  await of.controller.settle();
  runKubelets(of.world);
  endPod(of.world, podOfIndex(of.world, 0), 1);
  await of.controller.settle();
  assert.deepEqual(activePods(of.world).map(indexText), ['1']);
  endPod(of.world, podOfIndex(of.world, 1), 0);
  await of.controller.settle();
  assert.deepEqual([activePods(of.world).length, theJob(of.world).status.failed], [0, undefined]);
  of.world.clock.skip(10_000);
  await of.controller.settle();
  assert.deepEqual(activePods(of.world).map(indexText), ['0']);
  assert.equal(theJob(of.world).status.failed, 1);
});

test('too many failed indexes end the Job; FailIndex needs no retry', async () => {
  const fatal = { rules: [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [3] } }] };
  const spec = { backoffLimitPerIndex: 4, backoffLimit: 2_147_483_647, maxFailedIndexes: 1, podFailurePolicy: fatal };
  const of = await worldWith(indexed(4, { ...spec, podReplacementPolicy: 'Failed' }));
  await of.controller.settle();
  runKubelets(of.world);
  endPod(of.world, podOfIndex(of.world, 0), 3);
  await of.controller.settle();
  assert.deepEqual([theJob(of.world).status.failedIndexes, conditionsOf(of.world)], ['0', []]);
  endPod(of.world, podOfIndex(of.world, 2), 3);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), ['FailureTarget=True MaxFailedIndexesExceeded']);
  runKubelets(of.world);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Failed MaxFailedIndexesExceeded');
});

test('success policy: the Job succeeds when enough required indexes have; the rest is stopped', async () => {
  const successPolicy = { rules: [{ succeededIndexes: '0,2-3', succeededCount: 2 }] };
  const of = await worldWith(indexed(4, { successPolicy }));
  await of.controller.settle();
  runKubelets(of.world);
  endPod(of.world, podOfIndex(of.world, 1), 0);
  endPod(of.world, podOfIndex(of.world, 3), 0);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), []);
  endPod(of.world, podOfIndex(of.world, 2), 0);
  await of.controller.settle();
  assert.deepEqual(conditionsOf(of.world), ['SuccessCriteriaMet=True SuccessPolicy']);
  assert.equal(theJob(of.world).status.conditions?.[0]?.message, 'Matched rules at index 0');
  runKubelets(of.world);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Complete SuccessPolicy');
  assert.equal(theJob(of.world).status.completedIndexes, '1-3');
});

test('elastic: fewer completions drop the indexes beyond, more bring them back', async () => {
  const of = await worldWith(indexed(4));
  await of.controller.settle();
  runKubelets(of.world);
  endPod(of.world, podOfIndex(of.world, 3), 0);
  await of.controller.settle();
  assert.equal(theJob(of.world).status.completedIndexes, '3');
  editJob(of.world, { completions: 2, parallelism: 2 });
  await of.controller.settle();
  assert.deepEqual(activePods(of.world).map(indexText), ['0', '1']);
  assert.equal(theJob(of.world).status.completedIndexes, undefined);
  runKubelets(of.world);
  await of.controller.settle();
  assert.equal(theJob(of.world).status.failed, undefined);
  editJob(of.world, { completions: 4, parallelism: 4 });
  await of.controller.settle();
  assert.deepEqual(activePods(of.world).map(indexText).sort(), ['0', '1', '2', '3']);
  endPods(of.world, () => 0);
  await of.controller.settle();
  assert.equal(ended(theJob(of.world)), 'Complete CompletionsReached');
});
