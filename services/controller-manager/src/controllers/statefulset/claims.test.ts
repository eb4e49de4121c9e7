import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONTROLLER_REVISIONS,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { statefulSet } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { statefulSetController } from './index.ts';

const DB = { namespace: 'default', name: 'db' };
const DATA: PersistentVolumeClaim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: {} },
  status: {},
};
const DEFINITION = statefulSetController({ resources: [CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS] });

interface Running {
  readonly world: World;
  readonly controller: DrivenController;
}

async function worldWith(whenDeleted: string, whenScaled: string): Promise<Running> {
  const world = createWorld();
  const persistentVolumeClaimRetentionPolicy = { whenDeleted, whenScaled };
  const set = statefulSet({ replicas: 2, volumeClaimTemplates: [DATA], persistentVolumeClaimRetentionPolicy });
  await world.api.client('user').create(STATEFUL_SETS, set);
  const of = { world, controller: new DrivenController(world, DEFINITION) };
  await run(of);
  return of;
}

async function run({ world, controller }: Running): Promise<void> {
  for (let round = 0; round < 8; round++) {
    await controller.settle();
    runKubelets(world);
    await controller.settle();
  }
}

function edit(world: World, spec: Partial<StatefulSet['spec']>): void {
  const old = world.api.get(STATEFUL_SETS, DB);
  const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
  world.api.put(STATEFUL_SETS, { ...old, metadata, spec: { ...old.spec, ...spec } });
}

const owners = (world: World): Record<string, readonly string[]> =>
  Object.fromEntries(
    world.api
      .list(PERSISTENT_VOLUME_CLAIMS)
      .map((claim) => [
        nameOf(claim),
        (claim.metadata.ownerReferences ?? []).map(({ kind, name, controller }) => `${kind} ${name} ${controller}`),
      ]),
  );

const SET = ['StatefulSet db true'];

test('claims have no owner, or the set when they are deleted with it; a new policy is applied', async () => {
  const kept = await worldWith('Retain', 'Retain');
  assert.deepEqual(owners(kept.world), { 'data-db-0': [], 'data-db-1': [] });
  edit(kept.world, { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' } });
  await run(kept);
  assert.deepEqual(owners(kept.world), { 'data-db-0': SET, 'data-db-1': SET });
  edit(kept.world, { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } });
  await run(kept);
  assert.deepEqual(owners(kept.world), { 'data-db-0': [], 'data-db-1': [] });
  const bound = await worldWith('Delete', 'Retain');
  assert.deepEqual(owners(bound.world), { 'data-db-0': SET, 'data-db-1': SET });
  edit(bound.world, { replicas: 1 });
  await run(bound);
  assert.deepEqual(owners(bound.world), { 'data-db-0': SET, 'data-db-1': SET });
});

for (const whenDeleted of ['Retain', 'Delete']) {
  test(`whenScaled Delete, whenDeleted ${whenDeleted}: a claim is owned by its pod before that pod is deleted, other claims keep their owner`, async () => {
    const of = await worldWith(whenDeleted, 'Delete');
    const { world, controller } = of;
    const calm = whenDeleted === 'Delete' ? SET : [];
    const doomed = world.api.get(PODS, { namespace: 'default', name: 'db-1' });
    edit(world, { replicas: 1 });
    await controller.settle();
    const claimWrite = world.api.writes.findIndex(
      ({ verb, resource, key }) =>
        verb === 'update' && resource === 'persistentvolumeclaims' && key === 'default/data-db-1',
    );
    const deletion = world.api.writes.findIndex(({ verb, key }) => verb === 'delete' && key === 'default/db-1');
    assert.ok(claimWrite >= 0 && deletion > claimWrite);
    assert.deepEqual(owners(world), { 'data-db-0': calm, 'data-db-1': ['Pod db-1 true'] });
    const claim = world.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'data-db-1' });
    assert.equal(claim.metadata.ownerReferences?.[0]?.uid, doomed.metadata.uid);
  });
}

test('a returning ordinal waits until its old claim is gone: new data for a new pod', async () => {
  const of = await worldWith('Retain', 'Delete');
  edit(of.world, { replicas: 1 });
  await run(of);
  edit(of.world, { replicas: 2 });
  await run(of);
  assert.deepEqual(of.world.api.list(PODS).map(nameOf), ['db-0'], 'the claim of the ended pod is still there');
  const target = { namespace: 'default', name: 'data-db-1' };
  const old = of.world.api.get(PERSISTENT_VOLUME_CLAIMS, target);
  of.world.api.drop(PERSISTENT_VOLUME_CLAIMS, target);
  await run(of);
  assert.deepEqual(of.world.api.list(PODS).map(nameOf), ['db-0', 'db-1']);
  assert.notEqual(of.world.api.get(PERSISTENT_VOLUME_CLAIMS, target).metadata.uid, old.metadata.uid);
});

test('a terminating claim gets no new pod, a claim with another controller is ignored', async () => {
  const of = await worldWith('Delete', 'Delete');
  const { world } = of;
  const target = { namespace: 'default', name: 'data-db-1' };
  const claim = world.api.get(PERSISTENT_VOLUME_CLAIMS, target);
  const foreign = { apiVersion: 'example.com/v1', kind: 'Backup', name: 'b', uid: 'b', controller: true };
  world.api.put(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata: { ...claim.metadata, ownerReferences: [foreign] } });
  await run(of);
  assert.deepEqual(owners(world)['data-db-1'], ['Backup b true']);
  const held = world.api.get(PERSISTENT_VOLUME_CLAIMS, target);
  const metadata = {
    ...held.metadata,
    finalizers: ['kubernetes.io/pvc-protection'],
    deletionTimestamp: '2026-01-01T00:00:00Z',
  };
  world.api.put(PERSISTENT_VOLUME_CLAIMS, { ...held, metadata });
  world.api.drop(PODS, { namespace: 'default', name: 'db-1' });
  await run(of);
  assert.ok(isTerminating(world.api.get(PERSISTENT_VOLUME_CLAIMS, target)));
  assert.deepEqual(world.api.list(PODS).map(nameOf), ['db-0']);
});

const DATA_1 = { namespace: 'default', name: 'data-db-1' };

test('a claim that is deleted before its pod runs is created again, though it has no owner', async () => {
  const { world, controller } = await worldWith('Retain', 'Retain');
  const pod = world.api.get(PODS, { namespace: 'default', name: 'db-1' });
  world.api.put(PODS, { ...pod, status: { phase: 'Pending' } });
  await controller.settle();
  const { uid } = world.api.get(PERSISTENT_VOLUME_CLAIMS, DATA_1).metadata;
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, DATA_1);
  await controller.settle();
  assert.notEqual(world.api.get(PERSISTENT_VOLUME_CLAIMS, DATA_1).metadata.uid, uid);
  const writes = world.api.writes.length;
  world.api.put(PODS, { ...pod, status: { phase: 'Pending' } });
  await controller.settle();
  assert.equal(world.api.writes.length, writes, 'it is there');
});

test('a claim of a pod that runs, ends or is not wanted is not created again', async () => {
  const { world, controller } = await worldWith('Retain', 'Retain');
  const pod = world.api.get(PODS, { namespace: 'default', name: 'db-1' });
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, DATA_1);
  await controller.settle();
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  world.api.put(PODS, { ...pod, metadata: { ...pod.metadata, deletionTimestamp }, status: { phase: 'Pending' } });
  await controller.settle();
  edit(world, { replicas: 1 });
  world.api.put(PODS, { ...pod, status: { phase: 'Pending' } });
  await controller.settle();
  assert.deepEqual(world.api.list(PERSISTENT_VOLUME_CLAIMS).map(nameOf), ['data-db-0']);
});

test('names with dashes lead to the set of a claim', async () => {
  const world = createWorld();
  const { metadata, ...set } = statefulSet({
    replicas: 1,
    volumeClaimTemplates: [{ ...DATA, metadata: { name: 'a-b' } }],
  });
  await world.api.client('user').create(STATEFUL_SETS, { ...set, metadata: { ...metadata, name: 'c-d-1' } });
  const controller = new DrivenController(world, DEFINITION);
  await controller.settle();
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'a-b-c-d-1-0' });
  await controller.settle();
  assert.deepEqual(world.api.list(PERSISTENT_VOLUME_CLAIMS).map(nameOf), ['a-b-c-d-1-0']);
});
