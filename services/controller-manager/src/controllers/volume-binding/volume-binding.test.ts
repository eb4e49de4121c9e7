import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
} from '@holdfast/api';
import fc from 'fast-check';
import { nameOf } from '../../common/meta.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { claim, storageClass, volume } from '../../testing/volume-builders.ts';
import { volumeBindingController } from './index.ts';
import { bestVolume, mismatchOf } from './matching.ts';

const free = (name: string, spec: Partial<PersistentVolume['spec']> = {}): PersistentVolume => ({
  ...volume(name, spec),
  status: { phase: 'Available' },
});
const sized = (name: string, storage: string): PersistentVolume => free(name, { capacity: { storage } });
const reference = (name: string, uid?: string) => ({
  kind: 'PersistentVolumeClaim',
  namespace: 'default',
  name,
  ...(uid === undefined ? {} : { uid }),
});

test('the smallest sufficient volume is used, and a reserved one before all others', () => {
  const wanted = claim('c', { resources: { requests: { storage: '2Gi' } } }, { uid: 'u' });
  const some = [sized('large', '10Gi'), sized('small', '1Gi'), sized('right', '3Gi'), sized('alike', '3Gi')];
  assert.equal(bestVolume(wanted, some, false)?.metadata.name, 'alike');
  const reserved = free('mine', { capacity: { storage: '20Gi' }, claimRef: reference('c') });
  assert.equal(bestVolume(wanted, [...some, reserved], false)?.metadata.name, 'mine');
  assert.equal(bestVolume(wanted, [...some, reserved], true)?.metadata.name, 'mine');
  assert.equal(bestVolume(wanted, some, true), undefined, 'who waits for a pod takes nothing by itself');
  assert.equal(bestVolume(wanted, [{ ...sized('new', '3Gi'), status: { phase: 'Released' } }], false), undefined);
  const labelled = { ...sized('labelled', '9Gi'), metadata: { name: 'labelled', labels: { disk: 'fast' } } };
  const picky = claim('c', { selector: { matchLabels: { disk: 'fast' } } });
  assert.equal(bestVolume(picky, [...some, labelled], false)?.metadata.name, 'labelled');
});

test('a volume of exactly the requested size ends the search', () => {
  let looks = 0;
  const counted = Array.from({ length: 1_000 }, (_, i) => {
    const each = sized(`v${i}`, '1Gi');
    return Object.defineProperty({ ...each }, 'status', { get: () => (looks++, each.status) });
  });
  assert.equal(bestVolume(claim('c'), counted, false)?.metadata.name, 'v0');
  assert.equal(looks, 1);
});

test('class, mode, access and size must match the claim', () => {
  const table: readonly [
    Partial<PersistentVolume['spec']>,
    Partial<PersistentVolumeClaim['spec']>,
    string | undefined,
  ][] = [
    [{}, {}, undefined],
    [{ capacity: { storage: '1000Mi' } }, {}, 'requested PV is too small'],
    [{ storageClassName: 'fast' }, {}, 'storageClassName does not match'],
    [{ storageClassName: 'fast' }, { storageClassName: 'fast' }, undefined],
    [{ volumeMode: 'Block' }, {}, 'incompatible volumeMode'],
    [{}, { accessModes: ['ReadWriteMany'] }, 'incompatible accessMode'],
    [{ accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }, { accessModes: ['ReadWriteMany'] }, undefined],
  ];
  for (const [offered, asked, expected] of table) {
    assert.equal(mismatchOf(volume('v', offered), claim('c', asked)), expected);
  }
});

const C = { namespace: 'default', name: 'c' };
const claimOf = (world: World): PersistentVolumeClaim => world.api.get(PERSISTENT_VOLUME_CLAIMS, C);
const volumeOf = (world: World, name = 'v'): PersistentVolume => world.api.get(PERSISTENT_VOLUMES, { name });
const start = (world: World): DrivenController => new DrivenController(world, volumeBindingController);

test('[RWO-02] a claim and a volume are bound, whichever is created first', async () => {
  const world = createWorld();
  const controller = start(world);
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
  await controller.settle();
  assert.equal(claimOf(world).status.phase, 'Pending');
  assert.deepEqual(world.api.events.at(-1), {
    about: 'c',
    reason: 'FailedBinding',
    message: 'no persistent volumes available for this claim and no storage class is set',
  });
  world.api.put(PERSISTENT_VOLUMES, volume('v', { capacity: { storage: '5Gi' } }));
  await controller.settle();
  const bound = claimOf(world);
  assert.deepEqual([bound.spec.volumeName, bound.status.phase], ['v', 'Bound']);
  assert.deepEqual([bound.status.capacity, bound.status.accessModes], [{ storage: '5Gi' }, ['ReadWriteOnce']]);
  assert.deepEqual(bound.metadata.annotations, {
    'pv.kubernetes.io/bind-completed': 'yes',
    'pv.kubernetes.io/bound-by-controller': 'yes',
  });
  assert.deepEqual([volumeOf(world).status.phase, volumeOf(world).spec.claimRef?.uid], ['Bound', bound.metadata.uid]);
  const writes = world.api.writes.length;
  world.api.put(PERSISTENT_VOLUMES, volumeOf(world));
  await controller.settle();
  assert.equal(world.api.writes.length, writes, 'a second look writes nothing');
  assert.deepEqual(controller.errors, []);
});

test('[RWO-02] a claim that names a volume is bound when the volume appears', async () => {
  const world = createWorld();
  const controller = start(world);
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c', { volumeName: 'v' }));
  await controller.settle();
  assert.equal(claimOf(world).status.phase, 'Pending');
  world.api.put(PERSISTENT_VOLUMES, free('v'));
  await controller.settle();
  assert.equal(claimOf(world).status.phase, 'Bound');
});

test('a reservation by a user is respected for the claim and for the volume', async () => {
  const world = createWorld();
  const controller = start(world);
  world.api.put(PERSISTENT_VOLUMES, volume('v', { claimRef: reference('c') }));
  world.api.put(PERSISTENT_VOLUMES, volume('w'));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('other', { volumeName: 'v' }));
  await controller.settle();
  assert.equal(volumeOf(world).status.phase, 'Available');
  assert.equal(world.api.events.at(-1)?.message, 'volume "v" already bound to a different claim.');
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
  await controller.settle();
  assert.equal(claimOf(world).spec.volumeName, 'v');
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('big', { volumeName: 'w', accessModes: ['ReadWriteMany'] }));
  await controller.settle();
  assert.equal(world.api.events.at(-1)?.message, 'Cannot bind to requested volume "w": incompatible accessMode');
});

test('a WaitForFirstConsumer claim is bound when the scheduler has reserved a volume', async () => {
  const world = createWorld();
  const controller = start(world);
  world.api.put(STORAGE_CLASSES, storageClass('local', { volumeBindingMode: 'WaitForFirstConsumer' }));
  world.api.put(PERSISTENT_VOLUMES, volume('v', { storageClassName: 'local' }));
  const waiting = world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c', { storageClassName: 'local' }));
  await controller.settle();
  assert.equal(world.api.events.at(-1)?.reason, 'WaitForFirstConsumer');
  assert.equal(volumeOf(world).spec.claimRef, undefined);
  const found = volumeOf(world);
  world.api.put(PERSISTENT_VOLUMES, {
    ...found,
    spec: { ...found.spec, claimRef: reference('c', waiting.metadata.uid) },
  });
  await controller.settle();
  assert.deepEqual([claimOf(world).spec.volumeName, claimOf(world).status.phase], ['v', 'Bound']);
});

test('a WaitForFirstConsumer claim takes no free volume when its node is selected: it may be out of reach there', async () => {
  const world = createWorld();
  const controller = start(world);
  const fields = { provisioner: 'csi.example.com', volumeBindingMode: 'WaitForFirstConsumer' };
  world.api.put(STORAGE_CLASSES, storageClass('local', fields));
  world.api.put(PERSISTENT_VOLUMES, free('elsewhere', { storageClassName: 'local' }));
  const annotations = { 'volume.kubernetes.io/selected-node': 'n1' };
  const { metadata } = world.api.put(
    PERSISTENT_VOLUME_CLAIMS,
    claim('c', { storageClassName: 'local' }, { annotations }),
  );
  await controller.settle();
  assert.equal(volumeOf(world, 'elsewhere').spec.claimRef, undefined);
  assert.equal(claimOf(world).metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], 'csi.example.com');
  const made = { storageClassName: 'local', claimRef: reference('c', metadata.uid) };
  world.api.put(PERSISTENT_VOLUMES, volume('v', made));
  await controller.settle();
  assert.deepEqual([claimOf(world).spec.volumeName, claimOf(world).status.phase], ['v', 'Bound']);
});

test('this controller creates no volumes: a driver gets an annotation, an unknown class is reported', async () => {
  const world = createWorld();
  const controller = start(world);
  world.api.put(STORAGE_CLASSES, storageClass('driven', { provisioner: 'csi.example.com' }));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c', { storageClassName: 'driven' }));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('lost', { storageClassName: 'nobody' }));
  await controller.settle();
  assert.equal(claimOf(world).metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], 'csi.example.com');
  const told = world.api.events.map(({ about, reason }) => `${about} ${reason}`);
  assert.ok(told.includes('c ExternalProvisioning') && told.includes('lost ProvisioningFailed'));
  assert.match(world.api.events.find(({ about }) => about === 'lost')?.message ?? '', /"nobody" not found/);
});

test('claims without a class get the default class when there is one, and only they', async () => {
  const world = createWorld();
  const controller = start(world);
  const old = { 'volume.beta.kubernetes.io/storage-class': '' };
  world.api.put(PERSISTENT_VOLUMES, volume('v', { capacity: { storage: '1Gi' } }));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('fits'));
  await controller.settle();
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('none', { storageClassName: '' }));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('old', {}, { annotations: old }));
  world.api.put(STORAGE_CLASSES, storageClass('other'));
  await controller.settle();
  assert.equal(claimOf(world).spec.storageClassName, undefined);
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const fields = { provisioner: 'csi.example.com', metadata: { name: 'standard', annotations } };
  world.api.put(STORAGE_CLASSES, storageClass('standard', fields));
  await controller.settle();
  const classes = world.api.list(PERSISTENT_VOLUME_CLAIMS).map(({ spec }) => spec.storageClassName);
  assert.deepEqual(classes, [undefined, 'standard', '', undefined]);
  assert.equal(claimOf(world).metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], 'csi.example.com');
  const writes = world.api.writes.length;
  await controller.settle();
  assert.equal(world.api.writes.length, writes);
});

async function boundWorld(policy: string): Promise<{ readonly world: World; readonly controller: DrivenController }> {
  const world = createWorld();
  const controller = start(world);
  world.api.put(PERSISTENT_VOLUMES, volume('v', { persistentVolumeReclaimPolicy: policy }));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
  await controller.settle();
  assert.equal(volumeOf(world).status.phase, 'Bound');
  return { world, controller };
}

test('a volume whose claim is gone is released, keeps its data, and is not bound to a claim of the same name', async () => {
  const { world, controller } = await boundWorld('Retain');
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, C);
  await controller.settle();
  assert.equal(volumeOf(world).status.phase, 'Released');
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
  await controller.settle();
  assert.deepEqual([claimOf(world).status.phase, volumeOf(world).status.phase], ['Pending', 'Released']);
});

test('[RWO-17] the attachment of a volume stays when its phase changes', async () => {
  const { world, controller } = await boundWorld('Retain');
  const attachment = { nodeName: 'a', nodeUID: 'uid-a', pods: [{ namespace: 'default', name: 'one', uid: 'uid-one' }] };
  const bound = volumeOf(world);
  world.api.put(PERSISTENT_VOLUMES, { ...bound, status: { ...bound.status, attachment } });
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, C);
  await controller.settle();
  assert.deepEqual([volumeOf(world).status.phase, volumeOf(world).status.attachment], ['Released', attachment]);
});

test('a volume to delete without a deleter reports it', async () => {
  const { world, controller } = await boundWorld('Delete');
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, C);
  await controller.settle();
  const { status } = volumeOf(world);
  assert.equal(status.phase, 'Failed');
  assert.match(status.message ?? '', /no deletable volume plugin matched/);
  assert.equal(world.api.events.at(-1)?.reason, 'VolumeFailedDelete');
});

test('a volume provisioned for a claim is released, not bound to others, when the claim has another one', async () => {
  for (const [policy, phase] of [
    ['Delete', 'Released'],
    ['Retain', 'Available'],
  ] as const) {
    const world = createWorld();
    const controller = start(world);
    const { metadata } = world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c', { volumeName: 'w' }));
    const spec = { claimRef: reference('c', metadata.uid), persistentVolumeReclaimPolicy: policy };
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'csi.example.com' };
    world.api.put(PERSISTENT_VOLUMES, volume('v', spec, { annotations }));
    world.api.put(PERSISTENT_VOLUMES, volume('w'));
    await controller.settle();
    assert.deepEqual([claimOf(world).spec.volumeName, volumeOf(world).status.phase], ['w', phase], policy);
  }
});

test('a claim whose volume is gone is lost', async () => {
  const { world, controller } = await boundWorld('Retain');
  world.api.drop(PERSISTENT_VOLUMES, { name: 'v' });
  await controller.settle();
  assert.equal(claimOf(world).status.phase, 'Lost');
  assert.deepEqual(world.api.events.at(-1), {
    about: 'c',
    reason: 'ClaimLost',
    message: 'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
  });
});

test('a binding that a stale cache does not show is neither lost nor released', async () => {
  const { world } = await boundWorld('Retain');
  const late = world.api.newInformers();
  const volumes = late.of(PERSISTENT_VOLUMES);
  const controller = new DrivenController(world, volumeBindingController, late);
  volumes.freeze();
  const { uid } = claimOf(world).metadata;
  world.api.put(PERSISTENT_VOLUMES, volume('later', { claimRef: reference('second', 'second') }));
  const bound = { 'pv.kubernetes.io/bind-completed': 'yes' };
  world.api.put(PERSISTENT_VOLUME_CLAIMS, {
    ...claim('second', { volumeName: 'later' }, { uid: 'second', annotations: bound }),
    status: { phase: 'Bound' },
  });
  await controller.settle();
  assert.equal(world.api.get(PERSISTENT_VOLUME_CLAIMS, { ...C, name: 'second' }).status.phase, 'Bound');
  volumes.thaw();
  late.of(PERSISTENT_VOLUME_CLAIMS).freeze();
  world.api.put(PERSISTENT_VOLUMES, {
    ...volumeOf(world),
    metadata: { ...volumeOf(world).metadata, labels: { a: 'b' } },
  });
  await controller.settle();
  assert.deepEqual([volumeOf(world).status.phase, volumeOf(world).spec.claimRef?.uid], ['Bound', uid]);
});

test('[RWO-02] two managers with late caches: no volume has two claims, and every claim that can has one', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(sizes, sizes, fc.array(fc.boolean(), { minLength: 12, maxLength: 40 }), async (v, c, moves) => {
      const world = createWorld();
      const caches = world.api.newInformers();
      const managers = [start(world), new DrivenController(world, volumeBindingController, caches)];
      for (const [n, size] of v.entries())
        world.api.put(PERSISTENT_VOLUMES, volume(`v${n}`, { capacity: { storage: `${size}Gi` } }));
      for (const [n, size] of c.entries())
        world.api.put(PERSISTENT_VOLUME_CLAIMS, claim(`c${n}`, { resources: { requests: { storage: `${size}Gi` } } }));
      for (const [n, first] of moves.entries()) {
        if (n % 5 === 1) caches.of(PERSISTENT_VOLUMES).freeze();
        if (n % 5 === 4) caches.of(PERSISTENT_VOLUMES).thaw();
        await managers[first ? 0 : 1]?.step();
      }
      caches.of(PERSISTENT_VOLUMES).thaw();
      for (const manager of [...managers, ...managers]) await manager.settle();
      const bound = world.api.list(PERSISTENT_VOLUME_CLAIMS).filter(({ status }) => status.phase === 'Bound');
      const names = bound.map(({ spec }) => spec.volumeName);
      assert.equal(new Set(names).size, names.length);
      for (const each of bound) assert.equal(volumeOf(world, each.spec.volumeName).spec.claimRef?.name, nameOf(each));
      const left = world.api.list(PERSISTENT_VOLUMES).filter(({ spec }) => spec.claimRef === undefined);
      const waiting = world.api.list(PERSISTENT_VOLUME_CLAIMS).filter(({ status }) => status.phase !== 'Bound');
      for (const each of waiting) assert.equal(bestVolume(each, left, false), undefined, nameOf(each));
    }),
    { numRuns: 60 },
  );
});
