import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildNode, buildPod } from '../testing/builders.ts';
import { profileFor } from '../testing/cluster.ts';
import { ClusterCache } from './cluster-cache.ts';
import { MutableNodeInfo } from './node-info.ts';
import { createPodInfo, type PodInfo } from './pod-info.ts';
import { backoffMs, PodQueue } from './pod-queue.ts';

const FIT = new Set(['NodeResourcesFit']);
const { compare, hints } = profileFor(new ClusterCache());
const createQueue = (): PodQueue => new PodQueue({ compare, hintsOf: (_, plugin) => hints.get(plugin) });
const placed = (name: string): PodInfo => createPodInfo(buildPod(name, { cpu: '1', nodeName: 'n' }));
const nodeOf = (cpu: string): MutableNodeInfo => new MutableNodeInfo(buildNode('n', { cpu }));
const pod = (name: string, priority = 0, cpu = '1'): PodInfo =>
  createPodInfo(buildPod(name, { cpu, spec: { priority } }));

function drain(queue: PodQueue): readonly string[] {
  const names: string[] = [];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) names.push(next.pod.name);
  return names;
}

test('[PRIO-15] higher priority first, then who came first', () => {
  const queue = createQueue();
  for (const [name, priority] of [
    ['a', 0],
    ['b', 5],
    ['c', 0],
    ['d', 5],
    ['e', -1],
  ] as const) {
    queue.upsert(pod(name, priority), false, 0);
  }
  assert.deepEqual(drain(queue), ['b', 'd', 'a', 'c', 'e']);
});

test('[PRIO-17] back-off doubles from one second to ten, per pod', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 9].map((attempts) => backoffMs(attempts)),
    [1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
  );
  const queue = createQueue();
  queue.upsert(pod('a'), false, 0);
  queue.pop();
  queue.backOff('uid-default-a', 100);
  assert.equal(queue.tick(1_099), 1_100);
  assert.deepEqual(drain(queue), []);
  queue.tick(1_100);
  assert.deepEqual(drain(queue), ['a']);
});

test('an unschedulable pod waits for an event its plugins care about, or five minutes', () => {
  const queue = createQueue();
  queue.upsert(pod('a'), false, 0);
  queue.pop();
  queue.unschedulable('uid-default-a', FIT, 0);
  queue.note('pod-placed', placed('x'), 60_000);
  queue.tick(60_000);
  assert.deepEqual(drain(queue), [], 'more pods do not help a pod that lacks room');
  queue.note('pod-removed', placed('x'), 60_000);
  assert.deepEqual(drain(queue), ['a']);
  queue.unschedulable('uid-default-a', FIT, 60_000);
  queue.tick(359_999);
  assert.deepEqual(drain(queue), []);
  queue.tick(360_000);
  assert.deepEqual(drain(queue), ['a']);
});

test('an event during the decision is not lost: the pod only backs off', () => {
  const queue = createQueue();
  queue.upsert(pod('a'), false, 0);
  queue.pop();
  queue.note('node-added', nodeOf('4'), 0);
  queue.unschedulable('uid-default-a', FIT, 0);
  assert.equal(queue.counts().backoff, 1);
  queue.tick(1_000);
  assert.deepEqual(drain(queue), ['a']);
});

test('gates keep a pod out until they open; a changed spec is worth a try, a changed status is not', () => {
  const queue = createQueue();
  queue.upsert(pod('a'), true, 0);
  assert.deepEqual(drain(queue), []);
  queue.upsert(pod('a'), false, 0);
  queue.pop();
  queue.unschedulable('uid-default-a', FIT, 0);
  const same = pod('a');
  queue.upsert({ ...same, pod: { ...same.pod, status: { phase: 'Pending', message: 'x' } } }, false, 10_000);
  assert.deepEqual(drain(queue), []);
  queue.upsert(pod('a', 0, '500m'), false, 10_000);
  assert.deepEqual(drain(queue), ['a']);
});

test('a deleted pod is never handed out', () => {
  const queue = createQueue();
  queue.upsert(pod('a'), false, 0);
  queue.delete('uid-default-a');
  assert.deepEqual(drain(queue), []);
});
