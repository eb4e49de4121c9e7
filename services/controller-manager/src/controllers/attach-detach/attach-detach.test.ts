import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ContainerStatus,
  NODES,
  needsAttach,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  type Pod,
  REPLICA_SETS,
  volumeInUse,
} from '@holdfast/api';
import { nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { node, pod, podTemplate, replicaSet } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { endPod } from '../../testing/kubelet-model.ts';
import { claim, volume } from '../../testing/volume-builders.ts';
import { replicaSetController } from '../replicaset/index.ts';
import { attachDetachController } from './index.ts';

const ISCSI = { targetPortal: '10.0.0.9:3260', iqn: 'iqn.2026-11.example:disk', lun: 0 };
const VOLUMES = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
const DATA = { name: 'data' };

class Cluster {
  readonly world: World = createWorld();
  readonly controller: DrivenController;

  constructor() {
    const { api } = this.world;
    for (const name of ['a', 'b']) api.put(NODES, node(name));
    const bound = api.put(PERSISTENT_VOLUME_CLAIMS, claim('data', { volumeName: 'data' }));
    const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data', uid: uidOf(bound) };
    const { hostPath: _local, ...spec } = volume('data', { iscsi: ISCSI, claimRef }).spec;
    api.put(PERSISTENT_VOLUMES, { ...volume('data'), spec, status: { phase: 'Bound' } });
    this.controller = new DrivenController(this.world, attachDetachController);
  }

  async runs(name: string, nodeName: string): Promise<Pod> {
    const { api } = this.world;
    this.world.clock.skip(1_000);
    const created = api.put(PODS, pod({ name }, { phase: 'Running' }, { nodeName, volumes: VOLUMES }));
    await this.controller.settle();
    return created;
  }

  /** Sets the volumes that the kubelet of a node reports as in use. */
  async says(nodeName: string, ...users: readonly Pod[]): Promise<void> {
    const { api } = this.world;
    const met = api.get(NODES, { name: nodeName });
    const volumesInUse = users.map((each) => volumeInUse('data', uidOf(each)));
    api.put(NODES, { ...met, status: { ...met.status, volumesInUse } });
    await this.controller.settle();
  }

  async remove(each: Pod): Promise<void> {
    this.world.api.drop(PODS, targetOf(each));
    await this.controller.settle();
  }

  attachment(): PersistentVolume['status']['attachment'] {
    return this.world.api.get(PERSISTENT_VOLUMES, DATA).status.attachment;
  }

  /** `node: pods`, or nothing. */
  attached(): string {
    const { nodeName, pods = [] } = this.attachment() ?? {};
    return nodeName === undefined ? '' : `${nodeName}: ${pods.map(({ name }) => name).join(' ')}`.trimEnd();
  }
}

test('[RWO-06] a bound pod is attached by one write that names the node and the pod, and gets an event', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const revision = api.get(PERSISTENT_VOLUMES, DATA).metadata.resourceVersion;
  const one = await cluster.runs('one', 'a');
  const { nodeUID, pods, attachedAt } = cluster.attachment() ?? {};
  assert.equal(nodeUID, api.get(NODES, { name: 'a' }).metadata.uid);
  assert.deepEqual(pods, [{ namespace: 'default', name: 'one', uid: uidOf(one) }]);
  assert.ok(attachedAt !== undefined);
  assert.notEqual(api.get(PERSISTENT_VOLUMES, DATA).metadata.resourceVersion, revision);
  assert.deepEqual(
    api.writes.map(({ verb, resource }) => `${verb} ${resource}`),
    ['updateStatus persistentvolumes'],
  );
  const told = { about: 'one', reason: 'SuccessfulAttachVolume' };
  assert.deepEqual(api.events, [{ ...told, message: 'AttachVolume.Attach succeeded for volume "data" ' }]);
});

test('[RWO-08] a terminating pod keeps its attachment and starts no new one', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  await api.client('user').delete(PODS, targetOf(one));
  await cluster.controller.settle();
  cluster.world.clock.skip(3_600_000);
  await cluster.controller.settle();
  assert.equal(cluster.attached(), 'a: one');
  await cluster.remove(one);
  assert.equal(cluster.attached(), '');
});

test('[EXS-31] [RWO-10] [RWO-12] [RWO-13] the second pod gets an event to wait; when the first is gone one write clears the volume and another attaches it', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  await cluster.says('a', one);
  await cluster.runs('two', 'b');
  await cluster.runs('two', 'b');
  assert.equal(cluster.attached(), 'a: one');
  const waits = api.events.filter(({ reason }) => reason === 'FailedAttachVolume');
  const message = 'Multi-Attach error for volume "data" Volume is already used by pod(s) one';
  assert.deepEqual(waits, [{ about: 'two', reason: 'FailedAttachVolume', message }], 'once');
  const states: string[] = [];
  api.afterWrite = () => void states.push(cluster.attached());
  await cluster.says('a');
  await cluster.remove(one);
  assert.deepEqual(states, ['a:', '', 'b: two']);
});

test('[RWO-16] one of two controllers that decide on the same revision is refused, and no attachment is overwritten', async () => {
  const cluster = new Cluster();
  const { world } = cluster;
  const rival = new DrivenController(world, attachDetachController, world.api.newInformers());
  const late = world.api.newInformers();
  const sleeper = new DrivenController(world, attachDetachController, late);
  for (const kind of attachDetachController.watches) late.of(kind).freeze();
  world.api.put(PODS, pod({ name: 'two' }, {}, { nodeName: 'b', volumes: VOLUMES }));
  late.of(PODS).thaw();
  late.of(PODS).freeze();
  world.api.beforeWrite = ({ identity }) => {
    world.api.beforeWrite = () => {};
    assert.equal(identity, 'attachdetach-controller');
    // Another writer attached it to another node between the decision and the write.
    const met = world.api.get(PERSISTENT_VOLUMES, DATA);
    const attachment = { nodeName: 'a', nodeUID: uidOf(world.api.get(NODES, { name: 'a' })), pods: [] };
    world.api.put(PERSISTENT_VOLUMES, { ...met, status: { ...met.status, attachment } });
    world.api.put(NODES, { ...node('a'), status: { ...node('a').status, volumesInUse: [volumeInUse('data', 'u')] } });
  };
  await sleeper.settle();
  assert.equal(cluster.attached(), 'a:');
  for (const controller of [cluster.controller, rival]) await controller.settle();
  assert.equal(cluster.attached(), 'a:', 'looked at again, and not taken from a node that uses it');
  assert.deepEqual(world.api.writes, []);
});

test('[RWO-15] [RWO-16] after a restore the attachment to another node has a greater number, although the volume has its old revision and the cache is behind', async () => {
  const [lost, restored] = [new Cluster(), new Cluster()];
  const { api } = restored.world;
  const { resourceVersion } = api.get(PERSISTENT_VOLUMES, DATA).metadata;
  assert.equal(resourceVersion, lost.world.api.get(PERSISTENT_VOLUMES, DATA).metadata.resourceVersion);
  await lost.runs('one', 'a');
  const given = lost.world.api.get(PERSISTENT_VOLUMES, DATA).status.fencingToken ?? 0;
  // The jump of a restore: the store continues above the lost history, and the volume is as it was.
  const { resourceVersion: reached } = lost.world.api.get(PERSISTENT_VOLUMES, DATA).metadata;
  for (let i = 0; i < Number(reached); i++) api.put(NODES, node('c'));
  assert.equal(api.get(PERSISTENT_VOLUMES, DATA).metadata.resourceVersion, resourceVersion);
  assert.ok(api.cache(PERSISTENT_VOLUMES).revision() <= given, 'the cache does not know of the jump');
  await restored.runs('two', 'b');
  assert.equal(restored.attached(), 'b: two');
  const next = api.get(PERSISTENT_VOLUMES, DATA).status.fencingToken ?? 0;
  assert.ok(next > given, `${next} after ${given}`);
});

test('[RWO-18] a second pod on the same node joins, and the volume is cleared when the last one is gone', async () => {
  const cluster = new Cluster();
  const one = await cluster.runs('one', 'a');
  const two = await cluster.runs('two', 'a');
  assert.equal(cluster.attached(), 'a: one two');
  await cluster.remove(one);
  assert.equal(cluster.attached(), 'a: two');
  await cluster.remove(two);
  assert.equal(cluster.attached(), '');
});

test('[RWO-20] [RWO-21] no timeout and no force deletion takes a volume from a node that has not released it', async () => {
  const cluster = new Cluster();
  const { world } = cluster;
  const one = await cluster.runs('one', 'a');
  await cluster.says('a', one);
  await cluster.runs('two', 'b');
  await cluster.remove(one);
  for (let day = 0; day < 3; day++) {
    world.clock.skip(24 * 3_600_000);
    await cluster.controller.settle();
    assert.equal(cluster.attached(), 'a:');
  }
  await cluster.says('a');
  assert.equal(cluster.attached(), 'b: two', 'its own word');
});

test('[RWO-15] [RWO-21] the node is read past every cache, and only when no pod is named any more', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  api.cache(NODES).freeze();
  await cluster.says('a', one);
  await cluster.remove(one);
  assert.equal(cluster.attached(), 'a:', 'the cache shows a node that uses nothing');
  const before = api.writes.length;
  await cluster.says('a');
  api.cache(NODES).thaw();
  await cluster.controller.settle();
  assert.deepEqual([cluster.attached(), api.writes.length - before], ['', 1]);
});

test('[RWO-16] a pod that only a stale cache still has is not named, and of two controllers none takes back what the other writes', async () => {
  const cluster = new Cluster();
  const { world } = cluster;
  const late = world.api.newInformers();
  const behind = new DrivenController(world, attachDetachController, late);
  const one = await cluster.runs('one', 'a');
  late.of(PODS).freeze();
  await cluster.says('a');
  await cluster.remove(one);
  const before = world.api.writes.length;
  for (let round = 0; round < 5; round++)
    for (const controller of [behind, cluster.controller]) await controller.settle();
  const written = world.api.writes.slice(before).filter(({ resource }) => resource === 'persistentvolumes');
  assert.deepEqual([cluster.attached(), written.length], ['', 0]);
});

for (const [way, release] of [
  ['deletion of the node', (world: World): void => world.api.drop(NODES, { name: 'a' })],
  [
    'a confirmed fence',
    (world: World): void => {
      const met = world.api.get(NODES, { name: 'a' });
      const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
      world.api.put(NODES, { ...met, spec: { ...met.spec, taints } });
    },
  ],
] as const) {
  test(`[RWO-21] [SAFE-20] ${way} releases the volume of pods that are gone, not that of existing pods`, async () => {
    const cluster = new Cluster();
    const one = await cluster.runs('one', 'a');
    await cluster.says('a', one);
    await cluster.runs('two', 'b');
    release(cluster.world);
    await cluster.controller.settle();
    assert.equal(cluster.attached(), 'a: one');
    await cluster.remove(one);
    assert.equal(cluster.attached(), 'b: two');
  });
}

test('[RWO-21] a pod that is missing only in the cache keeps its volume', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  api.cache(PODS).feed(api.cache(PODS).revision(), 'default/one', undefined);
  await cluster.controller.settle();
  assert.equal(cluster.attached(), 'a: one');
  await cluster.remove(one);
  assert.equal(cluster.attached(), 'a: one', 'the cache does not know it, so no event of it counts');
  cluster.world.clock.skip(60_000);
  await cluster.controller.settle();
  assert.equal(cluster.attached(), '', 'asked again after a while');
});

test('a pod whose containers all ended releases its volume; a pod that only failed does not', async () => {
  for (const [ends, expected] of [
    [true, ''],
    [false, 'a: one'],
  ] as const) {
    const cluster = new Cluster();
    const one = await cluster.runs('one', 'a');
    if (ends) endPod(cluster.world, one, 0);
    else cluster.world.api.put(PODS, { ...one, status: { phase: 'Failed' } });
    await cluster.controller.settle();
    assert.equal(cluster.attached(), expected);
  }
});

test('[RWO-12] [RWO-15] a deleted pod that has ended leaves when it is gone; one that a finalizer holds leaves at its end', async () => {
  for (const [finalizers, expected] of [
    [[], 'a: one'],
    [['example.com/hold'], ''],
  ] as const) {
    const cluster = new Cluster();
    const { api } = cluster.world;
    const one = await cluster.runs('one', 'a');
    api.put(PODS, { ...one, metadata: { ...one.metadata, finalizers: [...finalizers], deletionTimestamp: NOW } });
    endPod(cluster.world, api.get(PODS, targetOf(one)), 0);
    await cluster.controller.settle();
    assert.equal(cluster.attached(), expected);
    await cluster.remove(api.get(PODS, targetOf(one)));
    assert.equal(cluster.attached(), '');
  }
});

const NOW = '2026-01-01T00:00:00Z';
const containerIn = (name: string, state: ContainerStatus['state']): ContainerStatus => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  lastState: {},
  state,
});
const afterInit = (exitCode: number): Partial<Pod['status']> => ({
  initContainerStatuses: [
    containerIn('init', { terminated: { exitCode, startedAt: NOW, finishedAt: NOW, reason: 'Error' } }),
  ],
  containerStatuses: [containerIn('app', { waiting: { reason: 'PodInitializing' } })],
});
const REFUSED = { reason: 'OutOfcpu', startTime: NOW };

for (const [who, status, restartPolicy, expected] of [
  ['that its kubelet refused', REFUSED, 'Always', ''],
  ['that its kubelet refused although the node uses the volume', REFUSED, 'Always', 'a:'],
  ['that never came to its containers', afterInit(1), 'Never', ''],
  ['that may have come to its containers since', afterInit(0), 'Never', 'a: one'],
  ['that may have tried its first container again since', afterInit(1), 'Always', 'a: one'],
] as const) {
  test(`[RWO-12] a failed pod ${who} leaves of the attachment: ${expected === '' ? 'nothing' : expected}`, async () => {
    const cluster = new Cluster();
    const one = await cluster.runs('one', 'a');
    if (expected === 'a:') await cluster.says('a', one);
    const failed: Pod = { ...one, spec: { ...one.spec, restartPolicy }, status: { ...status, phase: 'Failed' } };
    cluster.world.api.put(PODS, failed);
    await cluster.controller.settle();
    assert.equal(cluster.attached(), expected);
  });
}

test('an attachment that an administrator has cleared goes to the waiting pod, not back to the terminating one', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  await cluster.says('a', one);
  await api.client('user').delete(PODS, targetOf(one));
  await cluster.runs('two', 'b');
  const { attachment: _broken, ...status } = api.get(PERSISTENT_VOLUMES, DATA).status;
  await api.client('user').updateStatus(PERSISTENT_VOLUMES, { ...api.get(PERSISTENT_VOLUMES, DATA), status });
  await cluster.controller.settle();
  assert.equal(cluster.attached(), 'b: two');
});

test('[RWO-23] shared modes and backends with their own lock need no attach', () => {
  const { hostPath, ...spec } = volume('v').spec;
  const needs = (source: object, accessModes = ['ReadWriteOnce']): boolean =>
    needsAttach({ spec: { ...spec, ...source, accessModes } });
  const nfs = { nfs: { server: 's', path: '/' } };
  for (const source of [{ iscsi: ISCSI }, { fc: { targetWWNs: ['1'], lun: 0 } }, nfs]) assert.ok(needs(source));
  assert.ok(needs(nfs, ['ReadWriteOncePod']));
  assert.ok(needs({ csi: { driver: 'd', volumeHandle: 'h' } }), 'a driver may have no attach step');
  for (const mode of ['ReadWriteMany', 'ReadOnlyMany']) assert.ok(!needs(nfs, ['ReadWriteOnce', mode]));
  const guarded = [
    { awsElasticBlockStore: { volumeID: 'v' } },
    { gcePersistentDisk: { pdName: 'd' } },
    { cinder: { volumeID: 'v' } },
    { rbd: { image: 'i', monitors: ['m'] } },
    { csi: { driver: 'local-path.holdfast.io', volumeHandle: 'h' } },
    { hostPath },
  ];
  for (const source of guarded) assert.ok(!needs(source), JSON.stringify(source));
});

test('[RWO-24] the early replacement of a one-pod ReplicaSet waits for the volume', async () => {
  const cluster = new Cluster();
  const { world } = cluster;
  const sets = new DrivenController(world, replicaSetController);
  const template = podTemplate();
  const spec = { ...template.spec, volumes: VOLUMES };
  world.api.put(REPLICA_SETS, replicaSet({ replicas: 1, template: { ...template, spec } }));
  await sets.settle();
  const place = async (nodeName: string): Promise<Pod> => {
    const fresh = world.api.list(PODS).find((each) => each.spec.nodeName === undefined);
    assert.ok(fresh);
    const placed = world.api.put(PODS, { ...fresh, spec: { ...fresh.spec, nodeName } });
    await cluster.controller.settle();
    return placed;
  };
  const one = await place('a');
  await cluster.says('a', one);
  await world.api.client('user').delete(PODS, targetOf(one));
  await sets.settle();
  const two = await place('b');
  assert.equal(cluster.attached(), `a: ${nameOf(one)}`, 'two pods, one volume');
  await cluster.remove(one);
  await cluster.says('a');
  assert.equal(cluster.attached(), `b: ${nameOf(two)}`);
});

for (const reason of ['NodeFenced', 'StorageFenced']) {
  test(`[FENCE-08] a node with a confirmed fence (${reason}) gets no volume until it is unfenced`, async () => {
    const cluster = new Cluster();
    const { api, clock } = cluster.world;
    const met = api.get(NODES, { name: 'a' });
    const conditions = [...(met.status.conditions ?? []), { type: 'Fenced', status: 'True', reason }];
    api.put(NODES, { ...met, status: { ...met.status, conditions } });
    await cluster.runs('one', 'a');
    assert.equal(cluster.attached(), '');
    await cluster.runs('two', 'b');
    assert.equal(cluster.attached(), 'b: two');
    await cluster.remove(api.get(PODS, { namespace: 'default', name: 'two' }));
    api.put(NODES, met);
    clock.skip(60_000);
    await cluster.controller.settle();
    assert.equal(cluster.attached(), 'a: one');
  });
}
