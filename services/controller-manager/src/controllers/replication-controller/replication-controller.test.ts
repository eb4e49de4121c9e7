import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS, REPLICATION_CONTROLLERS, type ReplicationController } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { controllerOf, targetOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { replicationController as build, pod } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { asReplicaSet, replicationController } from './index.ts';

const WEB = { namespace: 'default', name: 'web' };

async function worldWith(
  object: ReplicationController,
): Promise<{ readonly world: World; readonly controller: DrivenController }> {
  const world = createWorld();
  await world.api.client('user').create(REPLICATION_CONTROLLERS, object);
  return { world, controller: new DrivenController(world, replicationController) };
}

const active = (world: World): number => world.api.list(PODS).filter(isActive).length;

test('[SAFE-25] [POD-14] keeps its number of pods, owns them, and replaces a pod as soon as it is being deleted', async () => {
  const { world, controller } = await worldWith(build({ replicas: 2 }));
  await controller.settle();
  runKubelets(world);
  await controller.settle();
  const [first] = world.api.list(PODS);
  assert.ok(first);
  const { apiVersion, kind, name } = controllerOf(first) ?? {};
  assert.deepEqual([apiVersion, kind, name], ['v1', 'ReplicationController', 'web']);
  const { status } = world.api.get(REPLICATION_CONTROLLERS, WEB);
  assert.deepEqual([status.replicas, status.readyReplicas, status.availableReplicas], [2, 2, 2]);
  await world.api.client('user').delete(PODS, targetOf(first));
  await controller.settle();
  assert.equal(world.api.list(PODS).length, 3);
  assert.equal(active(world), 2);
});

test('adopts by its plain selector, and follows a change of size', async () => {
  const { world, controller } = await worldWith(build({ replicas: 1 }));
  world.api.put(PODS, pod({ name: 'stray', labels: { app: 'web' } }, { phase: 'Running' }, { nodeName: 'n' }));
  await controller.settle();
  assert.deepEqual(
    world.api.list(PODS).map((each) => controllerOf(each)?.name),
    ['web'],
  );
  const object = world.api.get(REPLICATION_CONTROLLERS, WEB);
  world.api.put(REPLICATION_CONTROLLERS, { ...object, spec: { ...object.spec, replicas: 4 } });
  await controller.settle();
  assert.equal(active(world), 4);
});

test('pods that cannot be created are reported as ReplicaFailure, and the condition is removed when they can', async () => {
  const { world, controller } = await worldWith(build({ replicas: 1 }));
  world.api.beforeWrite = ({ verb }) => {
    if (verb === 'create') throw new TransportError('no answer');
  };
  await controller.step();
  const conditions = (): readonly string[] =>
    (world.api.get(REPLICATION_CONTROLLERS, WEB).status.conditions ?? []).map(
      ({ type, reason }) => `${type} ${reason}`,
    );
  assert.deepEqual(conditions(), ['ReplicaFailure FailedCreate']);
  world.api.beforeWrite = () => {};
  await controller.settle();
  assert.deepEqual(conditions(), []);
});

test('without a template or a selector it does nothing', () => {
  const { template: _template, ...withoutTemplate } = build().spec;
  assert.equal(asReplicaSet({ ...build(), spec: withoutTemplate }), undefined);
  assert.equal(asReplicaSet(build({ selector: {} })), undefined);
});
