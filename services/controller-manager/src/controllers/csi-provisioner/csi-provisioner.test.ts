import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  SECRETS,
  SELECTED_NODE_ANNOTATION,
  STORAGE_CLASSES,
  STORAGE_PROVISIONER_ANNOTATION,
  volumeInUse,
} from '@holdfast/api';
import fc from 'fast-check';
import { DriverError } from '../../csi/port.ts';
import { node } from '../../testing/builders.ts';
import { CsiDriverModel, MODEL_DRIVER } from '../../testing/csi-driver-model.ts';
import { contextOf, createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { claim, storageClass, volume } from '../../testing/volume-builders.ts';
import { claimProtectionController } from '../claim-protection/index.ts';
import { volumeBindingController } from '../volume-binding/index.ts';
import { volumeProtectionController } from '../volume-protection/index.ts';
import { decideClaim } from './decide-claim.ts';
import { decideVolume } from './decide-volume.ts';
import { csiProvisionerController } from './index.ts';
import { csiLeftClaimsController } from './left-claims.ts';
import { PROVISIONER_FINALIZER, PROVISIONING_FINALIZER } from './names.ts';
import { topologyFor } from './topology.ts';

const C = { namespace: 'default', name: 'data' };
const ASKED = { [STORAGE_PROVISIONER_ANNOTATION]: MODEL_DRIVER };
const CLASS = storageClass('disk', { provisioner: MODEL_DRIVER, reclaimPolicy: 'Delete' });

class Cluster {
  readonly world: World = createWorld();
  readonly driver = new CsiDriverModel();
  readonly controllers: DrivenController[];

  constructor(fields: Partial<typeof CLASS> = {}, informers = this.world.api.informers) {
    const { api } = this.world;
    api.put(STORAGE_CLASSES, { ...CLASS, ...fields });
    const drivers = new Map([[MODEL_DRIVER, this.driver]]);
    const all = [
      csiProvisionerController(drivers),
      volumeBindingController,
      claimProtectionController,
      volumeProtectionController,
    ];
    this.controllers = all.map((each) => new DrivenController(this.world, each, informers));
  }

  /** Until nothing is due, with the waits of driver back-offs. */
  async settle(): Promise<void> {
    for (let round = 0; round < 12; round++) {
      await settleAll(this.controllers);
      this.world.clock.skip(60_000);
    }
  }

  async claimed(spec: Partial<PersistentVolumeClaim['spec']> = {}): Promise<void> {
    await this.world.api
      .client('user')
      .create(PERSISTENT_VOLUME_CLAIMS, claim('data', { storageClassName: 'disk', ...spec }));
    await this.settle();
  }

  volumes = (): readonly PersistentVolume[] => this.world.api.list(PERSISTENT_VOLUMES);
  claim = (): PersistentVolumeClaim | undefined => this.world.api.find(PERSISTENT_VOLUME_CLAIMS, C);
  deleteClaim = (): Promise<unknown> => this.world.api.client('user').delete(PERSISTENT_VOLUME_CLAIMS, C);
  events = (reason: string): readonly string[] =>
    this.world.api.events.filter((event) => event.reason === reason).map(({ message }) => message);
}

test('a claim gets one volume of its size, which ends with the claim, and no finalizer is left on the claim', async () => {
  const cluster = new Cluster({
    parameters: { kind: 'fast', 'csi.storage.k8s.io/fstype': 'xfs' },
    mountOptions: ['noatime'],
  });
  await cluster.claimed();
  const [made] = cluster.volumes();
  const uid = cluster.claim()?.metadata.uid ?? '';
  assert.deepEqual(cluster.driver.calls, [`create pvc-${uid}`]);
  assert.deepEqual(
    [made?.metadata.name, made?.spec.csi, made?.spec.mountOptions, made?.status.phase],
    [`pvc-${uid}`, { driver: MODEL_DRIVER, volumeHandle: `vol-pvc-${uid}`, fsType: 'xfs' }, ['noatime'], 'Bound'],
  );
  assert.ok(made?.metadata.finalizers?.includes(PROVISIONER_FINALIZER));
  assert.deepEqual(cluster.claim()?.metadata.finalizers, ['kubernetes.io/pvc-protection']);
  await cluster.deleteClaim();
  await cluster.settle();
  assert.deepEqual([cluster.volumes(), [...cluster.driver.disks]], [[], []]);
});

test('with Retain the volume and its data stay, and the deletion of the object keeps the data', async () => {
  const cluster = new Cluster({ reclaimPolicy: 'Retain' });
  await cluster.claimed();
  await cluster.deleteClaim();
  await cluster.settle();
  const [kept] = cluster.volumes();
  assert.equal(kept?.status.phase, 'Released');
  await cluster.world.api.client('user').delete(PERSISTENT_VOLUMES, { name: kept.metadata.name ?? '' });
  await cluster.settle();
  assert.deepEqual([cluster.volumes().length, cluster.driver.disks.size], [0, 1]);
});

test('whatever answers are lost and whenever the claim is deleted: no volume is made twice, and none is left without an object', async () => {
  const fault = fc.constantFrom('none', 'before', 'after');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fault, { maxLength: 8 }),
      fc.array(fault, { maxLength: 12 }),
      fc.boolean(),
      async (calls, writes, deletes) => {
        const cluster = new Cluster();
        const { driver, world } = cluster;
        const failNext = (faults: typeof calls, when: string) => (): void => {
          if (faults[0] !== when) return;
          faults.shift();
          throw new DriverError('lost', { isRefusal: false });
        };
        const [ofCalls, ofWrites] = [[...calls], [...writes]];
        driver.before = failNext(ofCalls, 'before');
        driver.after = failNext(ofCalls, 'after');
        world.api.beforeWrite = ({ identity }) => (identity === 'user' ? undefined : failNext(ofWrites, 'before')());
        world.api.afterWrite = ({ identity }) => {
          if (identity === 'user') return;
          if (ofWrites[0] === 'none') ofWrites.shift();
          else failNext(ofWrites, 'after')();
        };
        await cluster.claimed();
        if (deletes) await cluster.deleteClaim();
        await cluster.settle();
        const made = [...driver.disks.keys()];
        assert.deepEqual(
          made,
          cluster.volumes().map(({ spec }) => spec.csi?.volumeHandle),
        );
        assert.equal(made.length, deletes ? 0 : 1);
      },
    ),
    { numRuns: 60 },
  );
});

test('a claim that is deleted while the outcome is unknown is kept until the volume is reclaimed; one that is refused is not', async () => {
  const cluster = new Cluster();
  cluster.driver.after = (call) => {
    if (call.startsWith('create')) throw new DriverError('deadline', { isRefusal: false });
  };
  await cluster.claimed();
  await cluster.deleteClaim();
  await cluster.settle();
  assert.deepEqual(cluster.claim()?.metadata.finalizers, [PROVISIONING_FINALIZER]);
  cluster.driver.after = () => {};
  await cluster.settle();
  assert.deepEqual([cluster.claim(), cluster.volumes(), cluster.driver.disks.size], [undefined, [], 0]);
  const refusing = new Cluster();
  refusing.driver.before = (call) => {
    if (call.startsWith('create')) throw new DriverError('too large', { isRefusal: true });
  };
  await refusing.claimed();
  assert.match(refusing.events('ProvisioningFailed')[0] ?? '', /with StorageClass "disk": too large/);
  await refusing.deleteClaim();
  await refusing.settle();
  assert.equal(refusing.claim(), undefined);
});

test('a manager with a late cache makes no volume for a claim that is over', async () => {
  const cluster = new Cluster();
  const { world, driver } = cluster;
  const late = world.api.newInformers();
  const sleeper = new DrivenController(world, csiProvisionerController(new Map([[MODEL_DRIVER, driver]])), late);
  await cluster.world.api
    .client('user')
    .create(
      PERSISTENT_VOLUME_CLAIMS,
      claim('data', { storageClassName: 'disk' }, { annotations: ASKED, finalizers: [PROVISIONING_FINALIZER] }),
    );
  for (const kind of [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES]) late.of(kind).freeze();
  await cluster.settle();
  await cluster.deleteClaim();
  await cluster.settle();
  await sleeper.settle();
  assert.deepEqual([driver.disks.size, cluster.volumes()], [0, []]);
});

test('a manager with a late cache deletes no volume that a node uses', async () => {
  const cluster = new Cluster();
  const { world, driver } = cluster;
  const a = world.api.put(NODES, node('node-a'));
  await cluster.claimed();
  const late = world.api.newInformers();
  const sleeper = new DrivenController(world, csiProvisionerController(new Map([[MODEL_DRIVER, driver]])), late);
  late.of(NODES).freeze();
  const [made] = cluster.volumes();
  const volumesInUse = [volumeInUse(made?.metadata.name ?? '', 'u')];
  world.api.put(NODES, { ...a, status: { ...a.status, volumesInUse } });
  await cluster.deleteClaim();
  await cluster.settle();
  await sleeper.settle();
  assert.ok(cluster.volumes()[0]?.metadata.deletionTimestamp !== undefined, 'only the node speaks against it');
  assert.deepEqual([driver.disks.size, driver.calls.filter((call) => call.startsWith('delete'))], [1, []]);
});

test('a failing driver is asked again with growing waits, although its events and writes wake the claim', async () => {
  const cluster = new Cluster();
  cluster.driver.before = (call) => {
    if (call.startsWith('create')) throw new DriverError('busy', { isRefusal: false });
  };
  await cluster.world.api.client('user').create(PERSISTENT_VOLUME_CLAIMS, claim('data', { storageClassName: 'disk' }));
  await settleAll(cluster.controllers);
  assert.equal(cluster.driver.calls.length, 1);
  for (const [waitMs, calls] of [
    [900, 1],
    [100, 2],
    [1_900, 2],
    [100, 3],
  ] as const) {
    cluster.world.clock.skip(waitMs);
    const met = cluster.claim();
    assert.ok(met !== undefined);
    cluster.world.api.put(PERSISTENT_VOLUME_CLAIMS, {
      ...met,
      metadata: { ...met.metadata, labels: { at: `${calls}${waitMs}` } },
    });
    await settleAll(cluster.controllers);
    assert.equal(cluster.driver.calls.length, calls);
  }
});

test('an exhausted place and a missing node return the claim to the scheduler', async () => {
  const cluster = new Cluster({ volumeBindingMode: 'WaitForFirstConsumer' });
  const { api } = cluster.world;
  api.put(NODES, node('node-a'));
  cluster.driver.before = (call) => {
    if (call.startsWith('create')) throw new DriverError('the pool is full', { isRefusal: false, isExhausted: true });
  };
  await cluster.claimed();
  assert.deepEqual(cluster.driver.calls, [], 'it waits for a pod');
  for (const [place, why] of [
    ['node-a', /the pool is full/],
    ['node-x', /node "node-x" does not exist/],
  ] as const) {
    const met = cluster.claim();
    assert.ok(met !== undefined);
    const annotations = { ...met.metadata.annotations, [SELECTED_NODE_ANNOTATION]: place };
    api.put(PERSISTENT_VOLUME_CLAIMS, { ...met, metadata: { ...met.metadata, annotations } });
    await settleAll(cluster.controllers);
    assert.match(cluster.events('ProvisioningFailed').at(-1) ?? '', why);
    assert.equal(cluster.claim()?.metadata.annotations?.[SELECTED_NODE_ANNOTATION], undefined);
  }
});

test('secrets of the class reach the driver and the volume, with the names of the claim filled in', async () => {
  const cluster = new Cluster({
    parameters: {
      'csi.storage.k8s.io/provisioner-secret-name': 'key-${pvc.name}',
      'csi.storage.k8s.io/provisioner-secret-namespace': '${pvc.namespace}',
      'csi.storage.k8s.io/node-stage-secret-name': 'stage',
      'csi.storage.k8s.io/node-stage-secret-namespace': 'kube-system',
    },
  });
  const seen: object[] = [];
  const { create } = cluster.driver;
  cluster.driver.create = (request) => {
    seen.push([request.secrets, request.parameters]);
    return create(request);
  };
  await cluster.claimed();
  assert.match(
    cluster.events('ProvisioningFailed')[0] ?? '',
    /secret "default\/key-data" for the CSI driver not found/,
  );
  const data = { token: Buffer.from('s3cret').toString('base64') };
  cluster.world.api.put(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name: 'key-data' },
    data,
  });
  await cluster.settle();
  assert.deepEqual(seen, [[{ token: 's3cret' }, {}]]);
  assert.deepEqual(cluster.volumes()[0]?.spec.csi?.nodeStageSecretRef, { namespace: 'kube-system', name: 'stage' });
});

const NAMED_BY_CLAIM = {
  'csi.storage.k8s.io/node-publish-secret-name': "${pvc.annotations['team/secret']}",
  'csi.storage.k8s.io/node-publish-secret-namespace': '${pvc.namespace}',
};

test('a class whose secrets cannot be found makes no volume, and a claim that lost their names leaves none behind', async () => {
  const nameless = new Cluster({ parameters: NAMED_BY_CLAIM });
  await nameless.claimed();
  assert.deepEqual(nameless.driver.calls, []);
  assert.match(nameless.events('ProvisioningFailed')[0] ?? '', /unknown variable \$\{pvc.annotations/);
  await nameless.deleteClaim();
  await nameless.settle();
  assert.equal(nameless.claim(), undefined);
  const cluster = new Cluster({ parameters: NAMED_BY_CLAIM });
  const user = cluster.world.api.client('user');
  cluster.driver.after = (call) => {
    if (call.startsWith('create')) throw new DriverError('deadline', { isRefusal: false });
  };
  const annotations = { 'team/secret': 'key' };
  await user.create(PERSISTENT_VOLUME_CLAIMS, claim('data', { storageClassName: 'disk' }, { annotations }));
  await cluster.settle();
  assert.equal(cluster.driver.disks.size, 1);
  const met = cluster.claim();
  assert.ok(met !== undefined);
  cluster.world.api.put(PERSISTENT_VOLUME_CLAIMS, { ...met, metadata: { ...met.metadata, annotations: ASKED } });
  await cluster.deleteClaim();
  cluster.driver.after = () => {};
  await cluster.settle();
  assert.deepEqual([cluster.claim(), cluster.volumes(), cluster.driver.disks.size], [undefined, [], 0]);
});

test('a claim that is held for a driver without helpers says so, and goes when its volume has an object', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  cluster.driver.after = (call) => {
    if (call.startsWith('create')) throw new DriverError('deadline', { isRefusal: false });
  };
  await cluster.claimed();
  await cluster.deleteClaim();
  await cluster.settle();
  cluster.controllers[0]?.kill();
  const left = new DrivenController(cluster.world, csiLeftClaimsController(new Map()));
  await left.settle();
  assert.match(
    cluster.events('ProvisioningFailed').at(-1) ?? '',
    /--csi-drivers .* does not name the driver disk.test any more.* name it again; or delete that volume by hand/,
  );
  const uid = cluster.claim()?.metadata.uid ?? '';
  assert.deepEqual(cluster.claim()?.metadata.finalizers, [PROVISIONING_FINALIZER]);
  api.put(PERSISTENT_VOLUMES, volume(`pvc-${uid}`, { claimRef: { ...C, uid } }));
  await left.settle();
  assert.equal(cluster.claim(), undefined);
});

test('a claim that is held for a class which names another driver now says so', () => {
  const action = decideClaim({
    driver: MODEL_DRIVER,
    claim: claim('data', { storageClassName: 'disk' }, held(true, [PROVISIONING_FINALIZER])),
    storageClass: { ...CLASS, provisioner: 'other.test' },
    volume: undefined,
    nodeExists: false,
  });
  assert.match(action.kind === 'report' ? action.event.message : '', /the class names another driver now/);
});

test('each driver has workers of its own: one that hangs keeps nobody from another', () => {
  const world = createWorld();
  const drivers = new Map(['a.test', 'b.test'].map((name) => [name, new CsiDriverModel()]));
  for (const name of drivers.keys()) {
    const annotations = { [STORAGE_PROVISIONER_ANNOTATION]: name };
    world.api.put(PERSISTENT_VOLUME_CLAIMS, claim(`of-${name}`, { storageClassName: 'disk' }, { annotations }));
  }
  const loops = csiProvisionerController(drivers).create(contextOf(world, 'manager'));
  const keys = loops.filter(({ name }) => name === 'csi-provisioner').map((loop) => loop.initialKeys());
  assert.deepEqual(keys, [['default/of-a.test'], ['default/of-b.test']]);
});

test('a volume that is too small is deleted, and while its driver refuses that, its claim is kept', async () => {
  const cluster = new Cluster();
  const { create } = cluster.driver;
  cluster.driver.create = (request) => create({ ...request, bytes: 1 });
  cluster.driver.before = (call) => {
    if (call.startsWith('delete')) throw new DriverError('it is being copied', { isRefusal: true });
  };
  await cluster.claimed();
  assert.match(cluster.events('ProvisioningFailed')[0] ?? '', /of 1 bytes instead of \d+, and did not delete it/);
  await cluster.deleteClaim();
  await cluster.settle();
  assert.deepEqual(cluster.claim()?.metadata.finalizers, [PROVISIONING_FINALIZER]);
  cluster.driver.before = () => {};
  await cluster.settle();
  assert.deepEqual([cluster.claim(), cluster.driver.disks.size], [undefined, 0]);
});

const held = (deleted: boolean, finalizers: string[]): PersistentVolumeClaim['metadata'] => ({
  uid: 'u-1',
  annotations: ASKED,
  finalizers,
  ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
});

test('with any claim and class: the driver is asked only for an unbound claim that is held, and a deleted claim is let go only with its volume', () => {
  const any = fc.record({
    isDeleted: fc.boolean(),
    isHeld: fc.boolean(),
    volumeName: fc.constantFrom('', 'other'),
    volume: fc.constantFrom('none', 'own', 'foreign'),
    hasClass: fc.boolean(),
    source: fc.constantFrom(undefined, 'VolumeSnapshot', 'PersistentVolumeClaim'),
    nodeExists: fc.boolean(),
  });
  fc.assert(
    fc.property(any, (x) => {
      const finalizers = x.isHeld ? [PROVISIONING_FINALIZER] : [];
      const dataSource = x.source === undefined ? {} : { dataSource: { kind: x.source, name: 'x' } };
      const mine = claim(
        'data',
        { storageClassName: 'disk', volumeName: x.volumeName, ...dataSource },
        held(x.isDeleted, finalizers),
      );
      const claimRef = { uid: x.volume === 'own' ? 'u-1' : 'u-2' };
      const action = decideClaim({
        driver: MODEL_DRIVER,
        claim: mine,
        storageClass: x.hasClass ? CLASS : undefined,
        volume: x.volume === 'none' ? undefined : volume('pvc-u-1', { claimRef }),
        nodeExists: x.nodeExists,
      });
      if (action.kind === 'provision')
        assert.ok(x.isHeld && x.volumeName === '' && x.volume === 'none' && x.hasClass && x.source === undefined);
      if (action.kind === 'hold') assert.ok(!x.isHeld && !x.isDeleted);
      if (action.kind === 'let-go')
        assert.ok(x.isHeld && (x.volumeName !== '' || x.volume === 'own' || x.source !== undefined));
      if (
        action.kind === 'report' &&
        x.source === 'VolumeSnapshot' &&
        !x.isDeleted &&
        x.hasClass &&
        x.volume === 'none'
      )
        assert.match(action.event.message, /snapshots are not supported: create the claim without dataSource/);
    }),
  );
});

test('with any volume: the driver deletes only what is released, deletable, ours, detached and unused', () => {
  const any = fc.record({
    phase: fc.constantFrom('Pending', 'Available', 'Bound', 'Released'),
    policy: fc.constantFrom('Delete', 'Retain'),
    going: fc.boolean(),
    isOurs: fc.boolean(),
    isHeld: fc.boolean(),
    isUsed: fc.boolean(),
    isAttached: fc.boolean(),
    hasForeignFinalizer: fc.boolean(),
  });
  fc.assert(
    fc.property(any, (x) => {
      const finalizers = [
        ...(x.isHeld ? [PROVISIONER_FINALIZER] : []),
        ...(x.hasForeignFinalizer ? ['external-attacher/x'] : []),
      ];
      const met: PersistentVolume = {
        ...volume('pv', { csi: { driver: MODEL_DRIVER, volumeHandle: 'v' }, persistentVolumeReclaimPolicy: x.policy }),
        metadata: {
          name: 'pv',
          finalizers,
          ...(x.isOurs ? { annotations: { 'pv.kubernetes.io/provisioned-by': MODEL_DRIVER } } : {}),
          ...(x.going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
        },
        status: {
          phase: x.phase,
          ...(x.isAttached ? { attachment: { nodeName: 'a', nodeUID: 'u', attachedAt: '', pods: [] } } : {}),
        },
      };
      const a = node('a');
      const using = { ...a, status: { ...a.status, volumesInUse: x.isUsed ? [volumeInUse('pv', 'u')] : [] } };
      const action = decideVolume({ driver: MODEL_DRIVER, volume: met, attachments: [], nodes: [using] });
      if (action.kind === 'delete-volume') {
        assert.ok(x.going && x.isOurs && x.isHeld && x.policy === 'Delete' && x.phase !== 'Bound');
        assert.ok(!x.isUsed && !x.isAttached && !x.hasForeignFinalizer);
      }
      if (action.kind === 'delete-object')
        assert.ok(x.phase === 'Released' && x.isOurs && x.policy === 'Delete' && x.isHeld && !x.going);
    }),
  );
});

test('a volume is asked for around the selected node, and spread over all places without one', () => {
  const places = ['node-a', 'node-b', 'node-c'].map((name) => ({
    node: node(name, { labels: { zone: name.slice(-1) } }),
    csiNode: {
      apiVersion: 'storage.k8s.io/v1',
      kind: CSI_NODES.kind,
      metadata: { name },
      spec: { drivers: [{ name: MODEL_DRIVER, nodeID: name, topologyKeys: ['zone'] }] },
    },
  }));
  const claimed = claim('data', {}, { uid: 'u-1' });
  const of = { driver: MODEL_DRIVER, claim: claimed, storageClass: CLASS, nodes: places, selected: places[1]?.node };
  assert.deepEqual(topologyFor(of), {
    requisite: [{ zone: 'a' }, { zone: 'b' }, { zone: 'c' }],
    preferred: [{ zone: 'b' }, { zone: 'c' }, { zone: 'a' }],
  });
  const free = topologyFor({ ...of, selected: undefined });
  assert.deepEqual(free?.preferred.length, 3);
  assert.deepEqual(topologyFor({ ...of, selected: undefined }), free, 'the same in every attempt');
  const allowedTopologies = [{ matchLabelExpressions: [{ key: 'zone', values: ['c', 'a'] }] }];
  assert.throws(
    () => topologyFor({ ...of, storageClass: { allowedTopologies } }),
    /no place that the class and the driver allow/,
  );
  assert.equal(topologyFor({ ...of, nodes: [], selected: undefined }), undefined);
});
