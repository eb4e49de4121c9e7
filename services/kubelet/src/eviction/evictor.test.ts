import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import type { EventText } from '@holdfast/client';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import type { MachineSample, PodSample } from '../stats/port.ts';
import { GIB, MIB, podUsing } from '../testing/pressure.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';
import { Evictor } from './evictor.ts';
import { killPodNow, killWaitSeconds } from './kill-pod.ts';
import { DEFAULT_EVICTION_FLAGS, type EvictionFlags, readEvictionConfig } from './thresholds.ts';

interface Told extends EventText {
  readonly about: string;
}

/** A node with the memory that the test sets, and pods that end on request. */
function machine(pods: PodSample[], flags: Partial<EvictionFlags> = {}) {
  const clock = createVirtualClock();
  const events: Told[] = [];
  const ended: { readonly uid: string; readonly failure: PodFailure; readonly at: number }[] = [];
  let sample: MachineSample = {};
  let diskLooks = 0;
  const state = { pods, neverEnds: false, reclaim: async () => 0 };
  const evictor = new Evictor({
    config: readEvictionConfig({ ...DEFAULT_EVICTION_FLAGS, hard: 'memory.available<100Mi', ...flags }),
    stats: {
      sample: async ({ disk }) => {
        if (disk) diskLooks += 1;
        return { at: clock.now(), machine: sample, pods: state.pods };
      },
    },
    allocatableMemory: undefined,
    clock,
    log: createSilentLog(),
    events: { event: ({ metadata }, event) => void events.push({ ...event, about: metadata.name ?? '' }) },
    reclaim: () => state.reclaim(),
    node: () => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: {}, status: {} }) as never,
    end: (uid, failure) => {
      ended.push({ uid, failure, at: clock.monotonic() / 1000 });
      if (state.neverEnds) return new Promise(() => {});
      state.pods = state.pods.filter(({ pod }) => pod.metadata.uid !== uid);
      return Promise.resolve();
    },
    onConditions: () => {},
  });
  return {
    state,
    evictor,
    events,
    ended,
    run: (seconds: number) => clock.advance(seconds * 1000),
    has: (change: MachineSample) => {
      sample = { ...sample, ...change };
    },
    memory: (availableBytes: number) => {
      sample = { ...sample, memory: { capacityBytes: 8 * GIB, availableBytes } };
    },
    diskLooks: () => diskLooks,
  };
}

test('[TERM-44] [TERM-48] one pod per pass, in ranking order, until one can be evicted', async (t) => {
  const critical = podUsing('critical', { memory: 4 * GIB, priority: 2_000_000_000 });
  const node = machine([critical, podUsing('small', { memory: 1 * GIB }), podUsing('large', { memory: 2 * GIB })]);
  t.after(() => node.evictor.stop());
  node.memory(50 * MIB);
  // Priority precedes the amount: both small and large come before the critical one, which requests nothing.
  node.evictor.start();
  await node.run(0.5);
  assert.deepEqual(
    node.ended.map(({ uid }) => uid),
    ['large'],
  );
  await node.run(1);
  assert.deepEqual(
    node.ended.map(({ uid }) => uid),
    ['large', 'small'],
  );
  await node.run(60);
  assert.deepEqual(
    node.ended.map(({ uid }) => uid),
    ['large', 'small'],
    'what the cluster lives on stays',
  );
});

const FILE_UID = '0'.repeat(32);

test('[TERM-44] [TERM-48] critical candidates are skipped, the next one is evicted', async (t) => {
  const node = machine([
    podUsing(FILE_UID, {
      memory: 4 * GIB,
      annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': FILE_UID },
    }),
    podUsing('mirror', { memory: 3 * GIB, annotations: { 'kubernetes.io/config.mirror': FILE_UID } }),
    podUsing('plain', { memory: 1 * GIB, priority: 5 }),
  ]);
  t.after(() => node.evictor.stop());
  node.memory(50 * MIB);
  node.evictor.start();
  await node.run(0.5);
  assert.deepEqual(
    node.ended.map(({ uid }) => uid),
    ['plain'],
  );
});

test('[TERM-45] [TERM-48] a hard eviction uses one second, reports the short resource, and is counted', async (t) => {
  const node = machine([podUsing('a', { memory: 300 * MIB, request: '100Mi' })]);
  t.after(() => node.evictor.stop());
  node.memory(50 * MIB);
  node.evictor.start();
  await node.run(0.5);
  const message =
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 51200Ki. ' +
    'Container main was using 307200Ki, request is 100Mi, has larger consumption of memory. ';
  assert.deepEqual(node.ended[0]?.failure, { reason: 'Evicted', message, graceSeconds: 1, disruption: message });
  assert.deepEqual(
    node.events.find(({ reason }) => reason === 'Evicted'),
    {
      about: 'a',
      type: 'Warning',
      reason: 'Evicted',
      message,
      annotations: { starved_resource: 'memory', offending_containers: 'main', offending_containers_usage: '307200Ki' },
    },
  );
  assert.equal(node.evictor.evictions().get('memory.available'), 1);
  assert.deepEqual(
    node.events.filter(({ about }) => about === 'n1').map(({ reason, message: said }) => [reason, said]),
    [
      ['NodeHasInsufficientMemory', 'Node n1 status is now: NodeHasInsufficientMemory'],
      ['EvictionThresholdMet', 'Attempting to reclaim memory'],
    ],
  );
});

test('[TERM-46] a soft eviction waits for its grace period, and uses evictionMaxPodGracePeriod', async (t) => {
  const node = machine([podUsing('a', { memory: 1 * GIB })], {
    soft: 'memory.available<1Gi',
    softGracePeriod: 'memory.available=1m30s',
    maxPodGracePeriod: 20,
  });
  t.after(() => node.evictor.stop());
  node.memory(500 * MIB);
  node.evictor.start();
  await node.run(85);
  assert.equal(node.ended.length, 0);
  assert.deepEqual(node.evictor.conditions(), ['MemoryPressure'], 'the condition does not wait');
  await node.run(10);
  assert.equal(node.ended[0]?.failure.graceSeconds, 20);
});

test('[TERM-47] the condition stays for the transition period after the last observation', async (t) => {
  const node = machine([], { pressureTransitionMs: 300_000 });
  t.after(() => node.evictor.stop());
  node.memory(50 * MIB);
  node.evictor.start();
  await node.run(5);
  node.memory(4 * GIB);
  await node.run(290);
  assert.deepEqual(node.evictor.conditions(), ['MemoryPressure']);
  await node.run(20);
  assert.deepEqual(node.evictor.conditions(), []);
  assert.deepEqual(node.ended, []);
});

test('[TERM-49] the eviction waits for the end at least 10 s, or one and a half times the grace period', () => {
  const pod = podUsing('a', { grace: 30 }).pod;
  assert.equal(killWaitSeconds(pod, undefined), 45);
  assert.equal(killWaitSeconds(pod, 5), 10);
  assert.equal(killWaitSeconds(pod, 7), 10);
  assert.equal(killWaitSeconds(pod, 0), 10, 'an override of 0 is an override');
  assert.equal(killWaitSeconds(pod, 25), 37);
  const { terminationGracePeriodSeconds: _unset, ...spec } = pod.spec;
  assert.equal(killWaitSeconds({ ...pod, spec }, undefined), 10);
});

test('[TERM-49] an eviction waits by its override of the grace period, not by that of the pod', async (t) => {
  const pods = [podUsing('a', { memory: 1 * GIB, grace: 600 })];
  const node = machine(pods, {
    soft: 'memory.available<1Gi',
    softGracePeriod: 'memory.available=1s',
    maxPodGracePeriod: 20,
  });
  t.after(() => node.evictor.stop());
  node.state.neverEnds = true;
  node.memory(500 * MIB);
  node.evictor.start();
  await node.run(20);
  const [eviction] = node.ended;
  assert.equal(eviction?.failure.graceSeconds, 20);
  const givenUp = (): number => node.events.filter(({ reason }) => reason === 'ExceededGracePeriod').length;
  await node.run((eviction?.at ?? 0) + 29.9 - 20);
  assert.equal(givenUp(), 0);
  await node.run(0.2);
  assert.equal(givenUp(), 1, '20 s and half of them');
});

test('[TERM-30] [TERM-49] the processes of an evicted pod get the overridden grace period', async (t) => {
  const pod = new VirtualPod({ containers: [app('main', { command: ['ignore-stop'] })] });
  t.after(() => pod.stop());
  await pod.run(1);
  void pod.end({ reason: 'Evicted', message: 'low', graceSeconds: 7, disruption: 'low' });
  await pod.run(60);
  assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 7, at: 1 }]);
  assert.deepEqual(pod.ended, [{ container: 'main', at: 8 }]);
});

test('[TERM-51] a pod that does not end in time is reported, and the eviction manager continues', async (t) => {
  const node = machine([podUsing('a', { memory: 1 * GIB })]);
  t.after(() => node.evictor.stop());
  node.state.neverEnds = true;
  node.memory(50 * MIB);
  node.evictor.start();
  await node.run(9);
  assert.ok(!node.events.some(({ reason }) => reason === 'ExceededGracePeriod'));
  await node.run(1.5);
  const told = node.events.find(({ reason }) => reason === 'ExceededGracePeriod');
  assert.deepEqual(
    [told?.type, told?.message],
    ['Warning', 'Container runtime did not kill the pod within specified grace period.'],
  );
});

test('[TERM-44] [TERM-50] no other pod is evicted while an evicted pod terminates', async (t) => {
  const node = machine([podUsing('a', { memory: 2 * GIB }), podUsing('b', { memory: 1 * GIB })]);
  t.after(() => node.evictor.stop());
  node.state.neverEnds = true;
  node.memory(50 * MIB);
  node.evictor.start();
  await node.run(9);
  assert.deepEqual(
    node.ended.map(({ uid }) => uid),
    ['a'],
  );
});

test('[TERM-51] a wait for the end of a pod fails when it takes too long', async () => {
  const clock = createVirtualClock();
  const { pod } = podUsing('a', { grace: 5 });
  const failure: PodFailure = { reason: 'Evicted', message: 'low' };
  const waiting = killPodNow({ clock, events: { event: () => {} }, end: () => new Promise(() => {}) }, pod, failure, 1);
  const told = assert.rejects(waiting, { message: 'timeout waiting to kill pod' });
  await clock.advance(10_000);
  await told;
});

test('[TERM-50] [QOS-12] [DISR-32] an evicted pod terminates as a whole, then reports it with its condition', async (t) => {
  const containers = ['one', 'two'].map((name) => ({ name, image: 'i', command: ['ignore-stop'], resources: {} }));
  const pod = new VirtualPod({ containers });
  t.after(() => pod.stop());
  await pod.run(1);
  const ended = pod.end({ reason: 'Evicted', message: 'low', graceSeconds: 1, disruption: 'low' });
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  await pod.run(1);
  assert.equal(isOver, false, 'completion is not told while processes live');
  await pod.run(30);
  assert.equal(isOver, true);
  assert.deepEqual(pod.ended.map(({ container }) => container).toSorted(), ['one', 'two']);
  assert.ok(
    pod.stops.every(({ graceSeconds }) => graceSeconds === 2),
    'the two seconds of a process, not the 30 of the pod',
  );
  assert.deepEqual([pod.status.phase, pod.status.reason, pod.status.message], ['Failed', 'Evicted', 'low']);
  const condition = pod.condition('DisruptionTarget');
  assert.deepEqual([condition?.status, condition?.reason, condition?.message], ['True', 'TerminationByKubelet', 'low']);
});

test('a pod over its own storage limit is evicted, even with free space', async (t) => {
  const spec: Partial<Pod['spec']> = { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }] };
  const over = podUsing('over', { spec, volumes: { scratch: { bytes: 2 * MIB, inodes: 1 } } });
  const under = podUsing('under', { spec, volumes: { scratch: { bytes: 1 * MIB, inodes: 1 } } });
  const node = machine([under, over]);
  t.after(() => node.evictor.stop());
  node.memory(4 * GIB);
  node.evictor.start();
  await node.run(0.5);
  assert.deepEqual(
    node.ended.map(({ uid, failure }) => [uid, failure.message, failure.graceSeconds]),
    [['over', 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ', 1]],
  );
  assert.equal(node.ended[0]?.failure.disruption, undefined, 'it would exceed the limit again');
  assert.equal(node.evictor.evictions().get('emptydirfs.limit'), 1);
});

test('files are walked only when a pod has a limit or the disk is short', async (t) => {
  const node = machine([podUsing('a', { memory: 1 })], { hard: 'nodefs.available<10%' });
  t.after(() => node.evictor.stop());
  node.evictor.start();
  await node.run(25);
  assert.equal(node.diskLooks(), 0);
  node.has({ nodeFs: { capacityBytes: 100 * GIB, availableBytes: 9 * GIB, inodes: 100, inodesFree: 50 } });
  await node.run(10);
  assert.ok(node.diskLooks() > 0);
  assert.match(node.ended[0]?.failure.message ?? '', /low on resource: ephemeral-storage\. Threshold quantity: 10Gi/);
});

test('under disk pressure unused images and containers are removed first; pods are evicted only when that was not enough', async (t) => {
  const disk = { capacityBytes: 100 * GIB, inodes: 100, inodesFree: 50 };
  const node = machine([podUsing('a', { memory: 1 })], { hard: 'imagefs.available<10%,memory.available<100Mi' });
  t.after(() => node.evictor.stop());
  let reclaimed = 0;
  node.state.reclaim = async () => {
    reclaimed += 1;
    node.has({ nodeFs: { ...disk, availableBytes: 20 * GIB } });
    return 11 * GIB;
  };
  node.has({ nodeFs: { ...disk, availableBytes: 9 * GIB } });
  node.evictor.start();
  await node.run(30);
  assert.deepEqual([reclaimed, node.ended], [1, []]);
  node.state.reclaim = async () => 0;
  node.has({ nodeFs: { ...disk, availableBytes: 9 * GIB } });
  await node.run(11);
  assert.equal(node.ended.length, 1);
  node.state.reclaim = () => assert.fail('memory is not on the disk');
  node.state.pods = [podUsing('b', { memory: 1 })];
  node.has({ nodeFs: { ...disk, availableBytes: 90 * GIB } });
  node.memory(50 * MIB);
  await node.run(11);
  assert.deepEqual(
    node.ended.map(({ uid }) => uid),
    ['a', 'b'],
  );
});

test('under disk pressure pods are evicted also when unused data could not be removed', async (t) => {
  const node = machine([podUsing('a', { memory: 1 })], { hard: 'imagefs.available<10%' });
  t.after(() => node.evictor.stop());
  node.state.reclaim = () => Promise.reject(new Error('the runtime does not answer'));
  node.has({ nodeFs: { capacityBytes: 100 * GIB, availableBytes: 9 * GIB, inodes: 100, inodesFree: 50 } });
  node.evictor.start();
  await node.run(11);
  assert.equal(node.ended.length, 1);
});
