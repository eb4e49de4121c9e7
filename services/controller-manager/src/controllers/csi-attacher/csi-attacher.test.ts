import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CSI_NODES,
  csiVolumeInUse,
  DETACHING_ANNOTATION,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Pod,
  type ResourceRef,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
  volumeInUse,
} from '@holdfast/api';
import fc from 'fast-check';
import { targetOf, uidOf } from '../../common/meta.ts';
import { DriverError } from '../../csi/port.ts';
import { node, pod } from '../../testing/builders.ts';
import { CsiDriverModel, MODEL_DRIVER } from '../../testing/csi-driver-model.ts';
import { createWorld, DrivenController, settleAll } from '../../testing/harness.ts';
import { claim, volume } from '../../testing/volume-builders.ts';
import { decideAttachments } from '../attach-detach/decide-attachments.ts';
import { attachDetachController } from '../attach-detach/index.ts';
import { attacherFinalizer, decideAttachment, NODE_ID_ANNOTATION, releasedVolume } from './decide.ts';
import { csiAttacherController } from './index.ts';

const SOURCE = { driver: MODEL_DRIVER, volumeHandle: 'vol-1' };
const VOLUMES = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
const FINALIZER = attacherFinalizer(MODEL_DRIVER);

/** A volume of a driver, bound to a claim, and the two controllers that attach it. */
class Cluster {
  readonly world = createWorld();
  readonly driver = new CsiDriverModel();
  readonly controllers: readonly DrivenController[];

  constructor(accessModes: readonly string[] = ['ReadWriteOnce']) {
    const { api } = this.world;
    this.driver.disks.set('vol-1', { name: 'data', bytes: 1, nodes: new Set() });
    for (const name of ['a', 'b']) {
      api.put(NODES, node(name));
      const drivers = [{ name: MODEL_DRIVER, nodeID: `machine-${name}` }];
      api.put(CSI_NODES, { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } });
    }
    const bound = api.put(PERSISTENT_VOLUME_CLAIMS, claim('data', { volumeName: 'data' }));
    const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data', uid: uidOf(bound) };
    const { hostPath: _local, ...spec } = volume('data', { csi: SOURCE, claimRef, accessModes: [...accessModes] }).spec;
    api.put(PERSISTENT_VOLUMES, { ...volume('data'), spec, status: { phase: 'Bound' } });
    const drivers = new Map([[MODEL_DRIVER, this.driver]]);
    this.controllers = [attachDetachController, csiAttacherController(drivers)].map(
      (each) => new DrivenController(this.world, each),
    );
  }

  settle = (): Promise<void> => settleAll(this.controllers);

  /** Another manager, which sees nothing newer of the kinds that are frozen. */
  sleeper(of: 'attach-detach' | 'csi-attacher') {
    const late = this.world.api.newInformers();
    const drivers = new Map([[MODEL_DRIVER, this.driver]]);
    const definition = of === 'csi-attacher' ? csiAttacherController(drivers) : attachDetachController;
    const sleeper = new DrivenController(this.world, definition, late);
    return { freeze: (kind: ResourceRef) => late.of(kind).freeze(), settle: () => sleeper.settle() };
  }

  fails(call: string): void {
    this.driver.before = (each) => {
      if (each.startsWith(call)) throw new DriverError('the array is busy', { isRefusal: false });
    };
  }

  /** With the waits of back-offs. */
  async later(): Promise<void> {
    this.world.clock.skip(600_000);
    await this.settle();
  }

  async runs(name: string, nodeName: string): Promise<Pod> {
    const created = this.world.api.put(PODS, pod({ name }, { phase: 'Running' }, { nodeName, volumes: VOLUMES }));
    await this.settle();
    return created;
  }

  async ends(each: Pod): Promise<void> {
    this.world.api.drop(PODS, targetOf(each));
    await this.settle();
  }

  async says(nodeName: string, ...volumesInUse: readonly string[]): Promise<void> {
    const met = this.world.api.get(NODES, { name: nodeName });
    this.world.api.put(NODES, { ...met, status: { ...met.status, volumesInUse: [...volumesInUse] } });
    await this.settle();
  }

  /** `node attached`, in order. */
  attachments = (): readonly string[] =>
    this.world.api
      .list(VOLUME_ATTACHMENTS)
      .map(({ spec, status }) => `${spec.nodeName} ${status.attached}`)
      .toSorted();

  machines = (): readonly string[] => [...this.driver.disk('vol-1').nodes];
}

test('[RWO-12] [RWO-15] [RWO-20] a volume of a driver leaves a node after its report, and is on one node at any time', async () => {
  const cluster = new Cluster();
  const one = await cluster.runs('one', 'a');
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['a true'], ['machine-a']]);
  await cluster.says('a', volumeInUse('data', uidOf(one)));
  await cluster.runs('two', 'b');
  await cluster.ends(one);
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['a true'], ['machine-a']], 'the node uses it');
  const [met] = cluster.world.api.list(VOLUME_ATTACHMENTS);
  assert.ok(met?.metadata.annotations?.[DETACHING_ANNOTATION] !== undefined, 'and nothing starts with it');
  assert.equal(met.metadata.deletionTimestamp, undefined, 'an attacher of somebody else would detach it');
  cluster.driver.before = (call) => {
    if (call.startsWith('detach')) throw new DriverError('the array is busy', { isRefusal: false });
  };
  await cluster.says('a');
  await cluster.later();
  const { attachment } = cluster.world.api.get(PERSISTENT_VOLUMES, { name: 'data' }).status;
  assert.equal(attachment?.nodeName, 'a', 'the driver has it attached there');
  cluster.driver.before = () => {};
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['b true'], ['machine-b']]);
  assert.deepEqual(
    [...new Set(cluster.driver.calls)],
    ['attach vol-1 machine-a', 'detach vol-1 machine-a', 'attach vol-1 machine-b'],
  );
});

test('[RWO-21] a VolumeAttachment that somebody deletes is not detached while the node uses the volume', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  for (const entry of [volumeInUse('data', uidOf(one)), csiVolumeInUse(SOURCE)]) {
    await cluster.says('a', entry);
    const [met] = api.list(VOLUME_ATTACHMENTS);
    assert.ok(met !== undefined);
    await api.client('user').delete(VOLUME_ATTACHMENTS, targetOf(met));
    await cluster.settle();
    await cluster.later();
    assert.deepEqual(cluster.machines(), ['machine-a']);
    const detachError = api.get(VOLUME_ATTACHMENTS, targetOf(met)).status.detachError?.message ?? '';
    assert.match(detachError, /node "a" still uses volume "data": end its pods there; .* taint the node/);
  }
  await cluster.says('a');
  await cluster.later();
  assert.deepEqual(cluster.driver.calls.slice(0, 2), ['attach vol-1 machine-a', 'detach vol-1 machine-a']);
});

test('[RWO-21] [SAFE-20] the deletion of the node, and a confirmed fence, detach its volumes by the name that the driver knows', async () => {
  for (const release of ['delete', 'fence'] as const) {
    const cluster = new Cluster();
    const { api } = cluster.world;
    const one = await cluster.runs('one', 'a');
    await cluster.says('a', volumeInUse('data', uidOf(one)));
    api.drop(CSI_NODES, { name: 'a' });
    const met = api.get(NODES, { name: 'a' });
    const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
    if (release === 'delete') api.drop(NODES, { name: 'a' });
    else api.put(NODES, { ...met, spec: { ...met.spec, taints } });
    await cluster.ends(one);
    await cluster.later();
    assert.deepEqual([cluster.attachments(), cluster.machines()], [[], []], release);
  }
});

test('[RWO-23] a shared volume is attached to every node with a pod, and leaves each after its report', async () => {
  const cluster = new Cluster(['ReadWriteMany']);
  const one = await cluster.runs('one', 'a');
  await cluster.says('a', volumeInUse('data', uidOf(one)));
  await cluster.runs('two', 'b');
  assert.deepEqual(cluster.attachments(), ['a true', 'b true']);
  await cluster.ends(one);
  await cluster.later();
  assert.deepEqual(cluster.attachments(), ['a true', 'b true'], 'node a says that it uses it');
  await cluster.says('a');
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['b true'], ['machine-b']]);
});

test('[RWO-22] a broken attachment is not detached from a node that uses the volume: the next pod is told why it waits', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  const one = await cluster.runs('one', 'a');
  await cluster.says('a', volumeInUse('data', uidOf(one)));
  await cluster.runs('two', 'b');
  await cluster.ends(one);
  const met = api.get(PERSISTENT_VOLUMES, { name: 'data' });
  const { attachment: _broken, ...status } = met.status;
  api.put(PERSISTENT_VOLUMES, { ...met, status });
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['a true'], ['machine-a']]);
  const message = 'Volume "data" is still attached to node "a", which reports that it uses it';
  assert.equal(api.events.filter((event) => event.about === 'two' && event.message.startsWith(message)).length, 1);
  const node = api.get(NODES, { name: 'a' });
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  api.put(NODES, { ...node, spec: { ...node.spec, taints } });
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['b true'], ['machine-b']]);
});

test('[RWO-15] [RWO-20] a manager with a late cache attaches nothing that has ended, and makes no attachment for the last node', async () => {
  const cluster = new Cluster();
  const sleepers = [cluster.sleeper('attach-detach'), cluster.sleeper('csi-attacher')];
  sleepers[0]?.freeze(VOLUME_ATTACHMENTS);
  cluster.fails('attach');
  const one = await cluster.runs('one', 'a');
  sleepers[0]?.freeze(PERSISTENT_VOLUMES);
  sleepers[1]?.freeze(VOLUME_ATTACHMENTS);
  cluster.driver.before = () => {};
  await cluster.later();
  await cluster.ends(one);
  await cluster.runs('two', 'b');
  await cluster.later();
  for (const sleeper of sleepers) await sleeper.settle();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['b true'], ['machine-b']]);
});

test('[RWO-15] a manager with a late cache does not detach what was attached again', async () => {
  const cluster = new Cluster();
  const one = await cluster.runs('one', 'a');
  cluster.fails('detach');
  await cluster.ends(one);
  await cluster.later();
  const sleeper = cluster.sleeper('csi-attacher');
  sleeper.freeze(VOLUME_ATTACHMENTS);
  cluster.driver.before = () => {};
  await cluster.later();
  await cluster.runs('two', 'a');
  await cluster.later();
  await sleeper.settle();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [['a true'], ['machine-a']]);
});

test('a driver that refuses is named in the attachment and to the pod, and asked again after a wait', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  cluster.driver.before = (call) => {
    if (call.startsWith('attach')) throw new DriverError('the array is full', { isRefusal: true });
  };
  await cluster.runs('one', 'a');
  assert.deepEqual(cluster.driver.calls, ['attach vol-1 machine-a'], 'its own report does not wake it');
  assert.equal(api.list(VOLUME_ATTACHMENTS)[0]?.status.attachError?.message, 'the array is full');
  assert.ok(
    api.events.some(({ message }) => message === 'AttachVolume.Attach failed for volume "data" : the array is full'),
  );
  cluster.driver.before = () => {};
  await cluster.later();
  assert.deepEqual(cluster.attachments(), ['a true']);
  assert.equal(api.list(VOLUME_ATTACHMENTS)[0]?.status.attachError, undefined);
});

test('a volume whose attach has an unknown outcome is detached before its object may go', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  cluster.driver.after = (call) => {
    if (call.startsWith('attach')) throw new DriverError('deadline', { isRefusal: false });
  };
  const one = await cluster.runs('one', 'a');
  assert.deepEqual(cluster.machines(), ['machine-a']);
  await api.client('user').delete(PERSISTENT_VOLUMES, { name: 'data' });
  const met = api.get(PERSISTENT_VOLUMES, { name: 'data' });
  assert.ok(met.metadata.finalizers?.includes(FINALIZER));
  await cluster.ends(one);
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.machines()], [[], []]);
  assert.deepEqual(api.get(PERSISTENT_VOLUMES, { name: 'data' }).metadata.finalizers, ['kubernetes.io/pv-protection']);
});

test('a driver without an attach step is not asked', async () => {
  const cluster = new Cluster();
  cluster.driver.can = { ...cluster.driver.can, attaches: false };
  const one = await cluster.runs('one', 'a');
  assert.deepEqual([cluster.attachments(), cluster.driver.calls], [['a true'], []]);
  await cluster.ends(one);
  await cluster.later();
  assert.deepEqual([cluster.attachments(), cluster.driver.calls], [[], []]);
});

const attachmentOn = (
  nodeName: string,
  metadata: VolumeAttachment['metadata'] = {},
  attached = false,
): VolumeAttachment => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name: `csi-${nodeName}`, ...metadata },
  spec: { attacher: MODEL_DRIVER, nodeName, source: { persistentVolumeName: 'data' } },
  status: { attached },
});

test('with any attachment: the driver is asked to attach only what both finalizers keep, and to detach only what is being deleted', () => {
  const any = fc.record({
    going: fc.boolean(),
    attached: fc.boolean(),
    isHeld: fc.boolean(),
    hasId: fc.boolean(),
    volume: fc.constantFrom('none', 'free', 'held', 'going', 'foreign'),
    isRegistered: fc.boolean(),
  });
  fc.assert(
    fc.property(any, (x) => {
      const metadata = {
        ...(x.isHeld ? { finalizers: [FINALIZER] } : {}),
        ...(x.hasId ? { annotations: { [NODE_ID_ANNOTATION]: 'machine-a' } } : {}),
        ...(x.going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      };
      const driver = x.volume === 'foreign' ? 'other' : MODEL_DRIVER;
      const ending = x.volume === 'going' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
      const finalizers = x.volume === 'free' ? [] : [FINALIZER];
      const met = volume('data', { csi: { driver, volumeHandle: 'vol-1' } }, { finalizers, ...ending });
      const action = decideAttachment({
        driver: MODEL_DRIVER,
        attachment: attachmentOn('a', metadata, x.attached),
        volume: x.volume === 'none' ? undefined : met,
        nodeId: x.isRegistered ? 'machine-a' : undefined,
      });
      if (action.kind === 'attach')
        assert.ok(!x.going && !x.attached && x.isHeld && x.hasId && x.volume === 'held' && x.isRegistered);
      if (action.kind === 'detach')
        assert.ok(x.going && x.isHeld && x.volume !== 'none' && (x.hasId || x.isRegistered));
      if (action.kind === 'release') assert.ok(x.going && x.isHeld && !x.hasId && !x.isRegistered);
      assert.equal(releasedVolume(MODEL_DRIVER, met, []) !== undefined, x.volume === 'going');
      assert.equal(releasedVolume(MODEL_DRIVER, met, [attachmentOn('a')]), undefined);
    }),
  );
});

test('[RWO-01] with any pods and attachments: a single-node volume is never attached to a second node, and what is wanted is never taken', () => {
  const places = fc.constantFrom('a', 'b', 'c');
  const any = fc.record({
    modes: fc.constantFrom(['ReadWriteOnce'], ['ReadWriteOncePod'], ['ReadWriteMany']),
    attachedTo: fc.option(places, { nil: undefined }),
    isNamed: fc.boolean(),
    users: fc.array(fc.record({ on: places, going: fc.boolean() }), { maxLength: 3 }),
    attachments: fc.uniqueArray(fc.record({ on: places, marked: fc.boolean(), going: fc.boolean() }), {
      maxLength: 3,
      selector: ({ on }) => on,
    }),
    isRequired: fc.boolean(),
  });
  fc.assert(
    fc.property(any, (x) => {
      const users = x.users.map(({ on, going }, index) => {
        const ending = going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
        return pod(
          { name: `p${index}`, uid: `u${index}`, ...ending },
          { phase: 'Running' },
          { nodeName: on, volumes: VOLUMES },
        );
      });
      const pods = x.isNamed ? [{ namespace: 'default', name: 'p0', uid: 'u0' }] : [];
      const attachment =
        x.attachedTo === undefined
          ? {}
          : { attachment: { nodeName: x.attachedTo, nodeUID: 'n', attachedAt: '', pods } };
      const attachments = x.attachments.map(({ on, marked, going }) =>
        attachmentOn(on, {
          ...(marked ? { annotations: { [DETACHING_ANNOTATION]: 'true' } } : {}),
          ...(going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
        }),
      );
      const met = {
        ...volume('data', { csi: SOURCE, accessModes: [...x.modes] }),
        status: { phase: 'Bound', ...attachment },
      };
      const decision = decideAttachments({
        volume: met,
        isRequired: x.isRequired,
        users,
        attachments,
        nodeExists: () => true,
      });
      const isSingle = x.modes[0] !== 'ReadWriteMany';
      const isWanted = (on: string): boolean =>
        x.isRequired &&
        (isSingle ? x.attachedTo === on && x.isNamed : x.users.some((each) => each.on === on && !each.going));
      if (decision.kind === 'create') {
        assert.ok(isWanted(decision.attachment.spec.nodeName));
        if (isSingle) assert.deepEqual(attachments, []);
      }
      if (decision.kind === 'ask-node') {
        assert.equal(isWanted(decision.attachment.spec.nodeName), false);
        assert.ok(decision.attachment.metadata.annotations?.[DETACHING_ANNOTATION] !== undefined);
      }
    }),
  );
});
