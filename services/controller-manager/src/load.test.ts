import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, LEASES, NODES, PODS, REPLICA_SETS } from '@holdfast/api';
import { formatMicroTime } from '@holdfast/platform';
import { targetOf, toTarget } from './common/meta.ts';
import { isActive } from './common/pods.ts';
import { deployment, node, podTemplate, replicaSet } from './testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from './testing/harness.ts';
import { makeReady, runKubelets } from './testing/kubelet-model.ts';
import { CONTROLLERS } from './testing/scenarios.ts';

const start = (world: World): readonly DrivenController[] =>
  CONTROLLERS.map((definition) => new DrivenController(world, definition));

/** Returns the writes of controllers since the last call. */
function counter(world: World): () => number {
  let counted = 0;
  return () => {
    const all = world.api.writes.filter(({ identity }) => identity !== 'user').length;
    const since = all - counted;
    counted = all;
    return since;
  };
}

function beat(world: World): void {
  const metadata = { name: 'node-a', namespace: 'kube-node-lease' };
  const spec = { renewTime: formatMicroTime(world.clock.now()) };
  world.api.put(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
}

test('the cost of a Deployment: two writes for a new pod, one and a half for a deleted one, hardly any reads', async () => {
  const replicas = 400;
  const world = createWorld();
  const controllers = start(world);
  const writes = counter(world);
  world.api.put(NODES, node('node-a'));
  await world.api.client('user').create(DEPLOYMENTS, deployment({ replicas }));
  await settleAll(controllers);
  // Pods become ready one after the other, and every one of them wakes its owners.
  for (const { metadata } of world.api.list(PODS)) {
    makeReady(world, world.api.get(PODS, toTarget(metadata.namespace ?? '', metadata.name ?? '')));
    world.clock.skip(10);
    await settleAll(controllers);
  }
  world.clock.skip(1_000);
  await settleAll(controllers);
  assert.equal(world.api.list(DEPLOYMENTS)[0]?.status.availableReplicas, replicas);
  const up = writes();
  assert.ok(up <= 2 * replicas, `${up} writes for ${replicas} pods that come`);
  const [web] = world.api.list(DEPLOYMENTS);
  assert.ok(web);
  world.api.put(DEPLOYMENTS, {
    ...web,
    metadata: { ...web.metadata, generation: 2 },
    spec: { ...web.spec, replicas: 0 },
  });
  await settleAll(controllers);
  for (const pod of world.api.list(PODS)) {
    world.api.drop(PODS, targetOf(pod));
    world.clock.skip(10);
    await settleAll(controllers);
  }
  const down = writes();
  assert.ok(down <= 1.5 * replicas, `${down} writes for ${replicas} pods that go`);
  const { get, list } = world.api.reads;
  assert.ok(get <= replicas / 4, `${get} single reads`);
  assert.equal(list, 0);
});

test('an idle cluster of 100 Deployments: no write and no read in an hour', async () => {
  const world = createWorld();
  const controllers = start(world);
  world.api.put(NODES, node('node-a'));
  for (let i = 0; i < 100; i++) {
    const labels = { app: `web-${i}` };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template: podTemplate(labels) };
    await world.api.client('user').create(DEPLOYMENTS, deployment(spec, { name: `web-${i}` }));
  }
  const writes = counter(world);
  const live = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 10) {
      world.clock.skip(10_000);
      beat(world);
      await settleAll(controllers);
    }
  };
  for (let round = 0; round < 4; round++) {
    await live(30);
    runKubelets(world);
  }
  await live(60);
  assert.equal(world.api.list(PODS).filter(isActive).length, 100);
  writes();
  const before = { ...world.api.reads };
  await live(3_600);
  assert.equal(writes(), 0);
  assert.deepEqual(world.api.reads, before);
});

test('deleting an owner of 10,000 pods: one deletion per pod, and one read of the owner', async () => {
  const pods = 10_000;
  const world = createWorld();
  const set = world.api.put(REPLICA_SETS, replicaSet());
  const { uid = '' } = set.metadata;
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid }];
  for (let i = 0; i < pods; i++) {
    const metadata = { name: `web-${i}`, namespace: 'default', ownerReferences };
    const spec = { ...podTemplate().spec, nodeName: 'node-a' };
    world.api.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Running' } });
  }
  const collector = CONTROLLERS.find(({ name }) => name === 'garbage-collector');
  assert.ok(collector);
  const controller = new DrivenController(world, collector);
  world.api.drop(REPLICA_SETS, { namespace: 'default', name: 'web' });
  while (await controller.step());
  assert.equal(world.api.writes.filter(({ verb }) => verb === 'delete').length, pods);
  assert.equal(world.api.writes.length, pods);
  assert.equal(world.api.reads.get, 1, 'whether the owner is gone is asked once');
  assert.equal(world.api.reads.list, 0);
});
