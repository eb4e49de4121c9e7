import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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

test('[PRIO-15] higher priority first, then order of arrival', () => {
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

test('[PRIO-15] [PRIO-16] a failed pod is requeued behind equal pods that arrived meanwhile', () => {
  const queue = createQueue();
  for (const name of ['a', 'b', 'c']) queue.upsert(pod(name), false, 0);
  queue.pop();
  queue.unschedulable('uid-default-a', FIT, 0);
  queue.pop();
  queue.backOff('uid-default-b', 0);
  queue.upsert(pod('d', 1), false, 500);
  queue.upsert(pod('e'), false, 500);
  queue.note('node-added', nodeOf('4'), 1_000);
  queue.tick(1_000);
  assert.deepEqual(drain(queue), ['d', 'c', 'a', 'b', 'e']);
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

test('[PRIO-17] an unschedulable pod waits for an event that its plugins registered, or five minutes', () => {
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

test('a failed binding of another pod does not hide the events during a decision', () => {
  for (const fail of [
    (queue: PodQueue) => queue.backOff('uid-default-binding', 0),
    (queue: PodQueue) => queue.unschedulable('uid-default-binding', FIT, 0),
  ]) {
    const queue = createQueue();
    queue.upsert(pod('binding'), false, 0);
    queue.pop();
    queue.placed();
    queue.upsert(pod('a'), false, 0);
    queue.pop();
    queue.note('node-added', nodeOf('4'), 0);
    fail(queue);
    assert.deepEqual([...queue.eventsInFlight().values()], [1]);
    const { backoff } = queue.counts();
    queue.unschedulable('uid-default-a', FIT, 0);
    assert.equal(queue.counts().backoff, backoff + 1);
  }
});

test('room that a pod gives up wakes the other pods, also after its decision, and not the pod', () => {
  const queue = createQueue();
  for (const name of ['a', 'b']) {
    queue.upsert(pod(name), false, 0);
    rejectedBy(queue, name, 'NodeResourcesFit');
  }
  queue.note('pod-removed', placed('a'), 60_000);
  assert.deepEqual(drain(queue), ['b']);
  queue.upsert(pod('c'), false, 60_000);
  queue.pop();
  queue.note('pod-removed', placed('c'), 60_000);
  queue.unschedulable('uid-default-c', FIT, 60_000);
  assert.deepEqual([drain(queue), queue.counts().unschedulable], [['a'], 1]);
});

test('gates keep a pod out of the queue until they are removed; a spec change requeues a pod, a status change does not', () => {
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

const rejectedBy = (queue: PodQueue, name: string, ...plugins: readonly string[]): void => {
  queue.pop();
  queue.unschedulable(`uid-default-${name}`, new Set(plugins), 0);
};

test('an event wakes only the pods that it can help', () => {
  const queue = createQueue();
  for (const [name, cpu] of [
    ['small', '1'],
    ['large', '8'],
  ] as const) {
    queue.upsert(pod(name, 0, cpu), false, 0);
    rejectedBy(queue, name, 'NodeResourcesFit');
  }
  queue.note('node-added', nodeOf('4'), 60_000);
  assert.deepEqual(drain(queue), ['small'], 'the large pod does not fit the new node either');
  queue.note('node-allocatable', nodeOf('16'), 60_000);
  assert.deepEqual(drain(queue), ['large']);
});

test('a pod rejected by several plugins is woken by an event that helps one of them, and one rejected by none by any event', () => {
  const queue = createQueue();
  queue.upsert(pod('a'), false, 0);
  rejectedBy(queue, 'a', 'NodeResourcesFit', 'TaintToleration');
  queue.upsert(pod('b'), false, 0);
  rejectedBy(queue, 'b');
  queue.note('namespace-changed', 'default', 60_000);
  assert.deepEqual(drain(queue), ['b']);
  queue.note('node-taints', nodeOf('1m'), 60_000);
  assert.deepEqual(drain(queue), ['a'], 'the node has no taint any more');
});

test('[PRIO-17] a woken pod in back-off waits for its end; unschedulable pods are counted by plugin', () => {
  const queue = createQueue();
  queue.upsert(pod('a'), false, 0);
  rejectedBy(queue, 'a', 'NodeResourcesFit');
  assert.deepEqual([...queue.unschedulableByPlugin()], [['NodeResourcesFit', 'default-scheduler', 1]]);
  queue.note('node-added', nodeOf('4'), 500);
  assert.deepEqual([queue.counts().backoff, queue.counts().unschedulable], [1, 0]);
  assert.equal(queue.tick(500), 1_000);
  assert.deepEqual(drain(queue), []);
  queue.tick(1_000);
  assert.deepEqual(drain(queue), ['a']);
  assert.deepEqual([...queue.unschedulableByPlugin()], []);
});

test('after any events every pod is in exactly one state, and the counts match', () => {
  const step = fc.record({
    op: fc.constantFrom('add', 'gate', 'pop', 'refuse', 'backoff', 'event', 'tick', 'delete'),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = createQueue();
      const known = new Set<string>();
      const underWay = new Set<string>();
      for (const [i, { op, name }] of steps.entries()) {
        const nowMs = i * 700;
        const uid = `uid-default-${name}`;
        if (op === 'add' || op === 'gate') {
          queue.upsert(pod(name, i % 3), op === 'gate', nowMs);
          known.add(name);
        } else if (op === 'pop') {
          const next = queue.pop();
          if (next === undefined) continue;
          assert.ok(known.has(next.pod.name) && !underWay.has(next.pod.name), 'handed out once');
          underWay.add(next.pod.name);
        } else if (op === 'refuse' && underWay.delete(name)) queue.unschedulable(uid, FIT, nowMs);
        else if (op === 'backoff' && underWay.delete(name)) queue.backOff(uid, nowMs);
        else if (op === 'event') queue.note('pod-removed', placed('x'), nowMs);
        else if (op === 'tick') queue.tick(nowMs);
        else if (op === 'delete') {
          queue.delete(uid);
          known.delete(name);
          underWay.delete(name);
        }
        const counts = queue.counts();
        assert.equal(
          Object.values(counts).reduce((sum, each) => sum + each, 0),
          known.size,
        );
        assert.equal(counts['in-flight'], underWay.size);
      }
    }),
    { numRuns: 300 },
  );
});
