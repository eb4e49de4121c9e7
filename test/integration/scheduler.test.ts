import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, PODS, type Pod, PRIORITY_CLASSES, type PriorityClass } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createSystemClock } from '@holdfast/platform';
import { createStatusAccess } from '@holdfast/scheduler';
import { eventually, gone, nodeReady, podWhere, startHollowNode } from '../support/kubelet-cluster.ts';
import {
  addNode,
  addPod,
  clearTaints,
  containers,
  podOf,
  startSchedulerCluster,
} from '../support/scheduler-cluster.ts';

const ZONE = 'topology.kubernetes.io/zone';

const bound = (admin: ApiClient, name: string): Promise<Pod> =>
  podWhere(admin, name, ({ spec }) => (spec.nodeName ?? '') !== '', 'is bound');

const priorityClass = (name: string, value: number, more: Partial<PriorityClass> = {}): PriorityClass => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  ...more,
});

test('[SPREAD-01] [SPREAD-15] constraints are stored unchanged, spread new pods, and move no existing ones', async (t) => {
  const cluster = await startSchedulerCluster();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  await addNode(admin, 'a', { labels: { [ZONE]: 'z1' } });
  await addNode(admin, 'b', { labels: { [ZONE]: 'z2' } });
  const labels = { app: 'web' };
  const constraint = {
    maxSkew: 1,
    topologyKey: ZONE,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  const names = ['w1', 'w2', 'w3', 'w4'];
  for (const name of names) {
    const created = await addPod(admin, podOf(name, { topologySpreadConstraints: [constraint] }, labels));
    assert.deepEqual(created.spec.topologySpreadConstraints, [constraint]);
    await bound(admin, name);
  }
  const placed = (await admin.list(PODS, { namespace: 'default' })).items;
  assert.equal(placed.filter(({ spec }) => spec.nodeName === 'a').length, 2);
  // There are no kubelets: for the API these pods end when they are removed.
  for (const { metadata, spec } of placed) {
    if (spec.nodeName === 'a') {
      await admin.delete(PODS, { namespace: 'default', name: metadata.name ?? '' }, { gracePeriodSeconds: 0 });
    }
  }
  await addPod(admin, podOf('other'));
  await bound(admin, 'other');
  const left = (await admin.list(PODS, { namespace: 'default', labelSelector: 'app=web' })).items;
  assert.deepEqual(
    left.map(({ metadata, spec }) => [metadata.deletionTimestamp, spec.nodeName]),
    [
      [undefined, 'b'],
      [undefined, 'b'],
    ],
  );
});

test('[PRIO-06] [PRIO-07] [EXS-20] classes apply at creation: later ones change no pod, and a deleted one is an unknown name', async (t) => {
  const cluster = await startSchedulerCluster();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  await admin.create(PRIORITY_CLASSES, priorityClass('high-priority', 1_000_000, { globalDefault: false }));
  const nginx = await addPod(admin, podOf('nginx', { priorityClassName: 'high-priority' }, { env: 'test' }));
  assert.deepEqual([nginx.spec.priority, nginx.spec.preemptionPolicy], [1_000_000, 'PreemptLowerPriority']);
  const plain = await addPod(admin, podOf('plain'));
  assert.equal(plain.spec.priority, 0);
  await admin.create(PRIORITY_CLASSES, priorityClass('usual', 7, { globalDefault: true }));
  const later = await eventually(async () => {
    const pod = await addPod(admin, podOf('later'));
    if (pod.spec.priority === 7) return pod;
    await admin.delete(PODS, { namespace: 'default', name: 'later' });
    return undefined;
  }, 'the new default counts');
  assert.equal(later.spec.priorityClassName, 'usual');
  assert.equal((await admin.get(PODS, { namespace: 'default', name: 'plain' })).spec.priority, 0);
  await admin.delete(PRIORITY_CLASSES, { name: 'high-priority' });
  const kept = await admin.get(PODS, { namespace: 'default', name: 'nginx' });
  assert.deepEqual([kept.spec.priorityClassName, kept.spec.priority], ['high-priority', 1_000_000]);
  const refused = await eventually(async () => {
    try {
      await addPod(admin, podOf('again', { priorityClassName: 'high-priority' }));
      await admin.delete(PODS, { namespace: 'default', name: 'again' });
      return undefined;
    } catch (error) {
      return error;
    }
  }, 'the deleted class is refused');
  assert.ok(refused instanceof StatusError && refused.code === 403);
  assert.match(refused.message, /no PriorityClass with name high-priority was found/);
});

test('[PRIO-19] [INIT-22] any priority is compatible with any QoS class, which counts init containers', async (t) => {
  const cluster = await startSchedulerCluster();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  await admin.create(PRIORITY_CLASSES, priorityClass('low', -5));
  await admin.create(PRIORITY_CLASSES, priorityClass('high', 1_000_000));
  const equal = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
  const kinds = { guaranteed: equal, burstable: { requests: { cpu: '1' } }, besteffort: {} };
  for (const [kind, resources] of Object.entries(kinds)) {
    for (const priorityClassName of ['low', 'high']) {
      const spec = { priorityClassName, containers: [{ name: 'c', image: 'i', resources }] };
      const { status } = await addPod(admin, podOf(`${kind}-${priorityClassName}`, spec));
      assert.equal(status.qosClass?.toLowerCase(), kind);
    }
  }
  const guaranteed = [{ name: 'c', image: 'i', resources: equal }];
  const init = (resources: Pod['spec']['containers'][number]['resources']): Pod['spec']['containers'] => [
    { name: 'init', image: 'i', resources },
  ];
  const classOf = async (name: string, resources: Pod['spec']['containers'][number]['resources']) =>
    (await addPod(admin, podOf(name, { containers: guaranteed, initContainers: init(resources) }))).status.qosClass;
  assert.equal(await classOf('same', equal), 'Guaranteed');
  assert.equal(await classOf('less', {}), 'Burstable');
});

test('[LIFE-36] a gated pod reports it and waits; without its gates it is scheduled', async (t) => {
  const cluster = await startSchedulerCluster();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, schedulers } = cluster;
  await addNode(admin, 'a');
  const gated = await addPod(
    admin,
    podOf('gated', { schedulingGates: [{ name: 'test.dev/x' }, { name: 'test.dev/y' }] }),
  );
  const condition = gated.status.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'SchedulingGated']);
  await eventually(async () => schedulers[0]?.counters().queue.gated === 1, 'the scheduler keeps it waiting');
  await addPod(admin, podOf('free'));
  await bound(admin, 'free');
  const target = { namespace: 'default', name: 'gated' };
  const open = (schedulingGates: readonly { name: string }[]): Promise<Pod> =>
    eventually(async () => {
      try {
        const pod = await admin.get(PODS, target);
        return await admin.update(PODS, { ...pod, spec: { ...pod.spec, schedulingGates: [...schedulingGates] } });
      } catch (error) {
        if (error instanceof StatusError && error.code === 409) return undefined;
        throw error;
      }
    }, 'the gates are changed');
  await open([{ name: 'test.dev/y' }]);
  await addPod(admin, podOf('free-2'));
  await bound(admin, 'free-2');
  assert.equal((await admin.get(PODS, target)).spec.nodeName, undefined, 'one gate is left');
  await open([]);
  assert.equal((await bound(admin, 'gated')).spec.nodeName, 'a');
});

test('[PREEMPT-07] [DISR-04] a victim gets its grace period and is killed after it; then the important pod runs', async (t) => {
  const cluster = await startSchedulerCluster();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, handle } = cluster;
  const node = await startHollowNode(handle);
  t.after(() => node.stop());
  await nodeReady(admin);
  await clearTaints(admin, 'n1');
  await admin.create(PRIORITY_CLASSES, priorityClass('high', 1_000_000));
  const victim = await addPod(
    admin,
    podOf('victim', { containers: containers({ cpu: '20' }, ['ignore-stop']), terminationGracePeriodSeconds: 1 }),
  );
  await podWhere(admin, 'victim', ({ status }) => status.phase === 'Running', 'runs');
  const important = await eventually(async () => {
    try {
      return await addPod(
        admin,
        podOf('important', { priorityClassName: 'high', containers: containers({ cpu: '20' }) }),
      );
    } catch (error) {
      if (error instanceof StatusError && error.code === 403) return undefined;
      throw error;
    }
  }, 'the class is known');
  const leaving = await podWhere(
    admin,
    'victim',
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
    'is asked to end',
  ).catch(() => undefined);
  if (leaving !== undefined) assert.equal(leaving.metadata.deletionGracePeriodSeconds, 1);
  await gone(admin, 'victim', victim.metadata.uid);
  const running = await podWhere(admin, 'important', ({ status }) => status.phase === 'Running', 'runs');
  assert.equal(running.metadata.uid, important.metadata.uid);
  const preempted = await eventually(async () => {
    const events = await admin.list(EVENTS, { namespace: 'default' });
    return events.items.find(({ reason }) => reason === 'Preempted');
  }, 'the event is there');
  assert.deepEqual(
    [preempted.involvedObject.name, preempted.type, preempted.message],
    ['victim', 'Normal', `Preempted by pod ${important.metadata.uid} on node n1`],
  );
});

test('[TEST-04] two active schedulers bind every pod exactly once', async (t) => {
  const cluster = await startSchedulerCluster(2);
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, schedulers } = cluster;
  for (const name of ['a', 'b', 'c']) await addNode(admin, name, { cpu: '10' });
  const names = Array.from({ length: 24 }, (_, i) => `p${i}`);
  await Promise.all(names.map((name) => addPod(admin, podOf(name))));
  for (const name of names) await bound(admin, name);
  // Every pod is bound once: a second binding would have been counted as a bound pod of the other scheduler.
  await eventually(
    async () => schedulers.reduce((sum, each) => sum + each.counters().bound, 0) === names.length,
    'the answers are in',
  );
  await eventually(
    async () => schedulers.every((each) => each.counters().assumed === 0),
    'all assumptions are confirmed',
  );
  for (const each of schedulers) {
    const { pods, nodes } = await each.compareCache();
    assert.deepEqual([pods.missing, pods.redundant, pods.onOtherNode, nodes.missing], [[], [], [], []]);
  }
});

test('the scheduler may ask the API who reads its status, and answers authorized callers', async (t) => {
  const cluster = await startSchedulerCluster(0);
  t.after(() => cluster[Symbol.asyncDispose]());
  const access = createStatusAccess({ client: cluster.clientOf('scheduler'), clock: createSystemClock() });
  assert.equal(await access('/metrics', 'Bearer admin'), 'allowed');
  assert.equal(await access('/metrics', 'Bearer scheduler'), 'forbidden');
  assert.equal(await access('/metrics', 'Bearer nobody'), 'unauthenticated');
});
