import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  LOCAL_PATH_FINALIZER,
  LOCAL_PATH_NODE_LABEL,
  LOCAL_PATH_PROVISIONER,
  localPathNode,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  SELECTED_NODE_ANNOTATION,
  STORAGE_CLASSES,
  STORAGE_PROVISIONER_ANNOTATION,
  type StorageClass,
} from '@holdfast/api';
import fc from 'fast-check';
import { node } from '../../testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { claim, storageClass, volume } from '../../testing/volume-builders.ts';
import { volumeBindingController } from '../volume-binding/index.ts';
import { volumeProtectionController } from '../volume-protection/index.ts';
import { buildVolume } from './build-volume.ts';
import { type ClaimAction, decideClaim } from './decide-claim.ts';
import { decideVolume } from './decide-volume.ts';
import { localPathController } from './index.ts';

const STANDARD = storageClass('standard', {
  provisioner: LOCAL_PATH_PROVISIONER,
  volumeBindingMode: 'WaitForFirstConsumer',
  reclaimPolicy: 'Delete',
});

const ASKED = { [STORAGE_PROVISIONER_ANNOTATION]: LOCAL_PATH_PROVISIONER };
const placed = (nodeName: string) => ({ ...ASKED, [SELECTED_NODE_ANNOTATION]: nodeName });

const wanting = (
  spec: Partial<PersistentVolumeClaim['spec']> = {},
  annotations: Record<string, string> = placed('node-a'),
): PersistentVolumeClaim => claim('data', { storageClassName: 'standard', ...spec }, { uid: 'u-1', annotations });

const snapshot = (
  of: PersistentVolumeClaim,
  rest: {
    readonly storageClass?: StorageClass;
    readonly node?: Node | undefined;
    readonly volume?: PersistentVolume;
  } = {},
) => ({ claim: of, storageClass: STANDARD, node: node('node-a'), volume: undefined, ...rest });

const messageOf = (action: ClaimAction): string => ('event' in action ? action.event.message : action.kind);

test('a volume has the size, modes and class of its claim, is bound to it, and is usable on its node only', () => {
  const mine = wanting({ accessModes: ['ReadWriteOncePod'], resources: { requests: { storage: '5Gi' } } });
  const action = decideClaim(
    snapshot(mine, { node: node('node-a', { labels: { 'kubernetes.io/hostname': 'host-a' } }) }),
  );
  assert.equal(action.kind, 'provision');
  const { metadata, spec } = action.kind === 'provision' ? action.volume : volume('none');
  assert.equal(metadata.name, 'pvc-u-1');
  assert.deepEqual(metadata.labels, { [LOCAL_PATH_NODE_LABEL]: 'node-a' });
  assert.deepEqual(metadata.annotations, { 'pv.kubernetes.io/provisioned-by': LOCAL_PATH_PROVISIONER });
  assert.deepEqual(metadata.finalizers, [LOCAL_PATH_FINALIZER]);
  assert.deepEqual([spec.capacity, spec.accessModes], [{ storage: '5Gi' }, ['ReadWriteOncePod']]);
  assert.deepEqual([spec.storageClassName, spec.persistentVolumeReclaimPolicy], ['standard', 'Delete']);
  assert.equal(spec.claimRef?.uid, 'u-1');
  assert.equal(localPathNode({ spec }), 'node-a');
  assert.equal(JSON.stringify(spec).includes('path":'), false, 'the node chooses the path');
  const hosts = spec.nodeAffinity?.required?.nodeSelectorTerms;
  assert.deepEqual(hosts, [
    { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['host-a'] }] },
  ]);
});

test('a class with the policy Retain creates volumes that keep it, and a hollow node has nothing to remove', () => {
  const kept = decideClaim(snapshot(wanting(), { storageClass: { ...STANDARD, reclaimPolicy: 'Retain' } }));
  assert.equal(kept.kind === 'provision' && kept.volume.spec.persistentVolumeReclaimPolicy, 'Retain');
  const hollow = node('node-a');
  hollow.status.nodeInfo.containerRuntimeVersion = 'holdfast-hollow://0.1.0';
  const simulated = decideClaim(snapshot(wanting(), { node: hollow }));
  assert.equal(simulated.kind === 'provision' && simulated.volume.metadata.finalizers, undefined);
});

test('an unsupported claim is refused with the reason', () => {
  const table: readonly [string, Partial<PersistentVolumeClaim['spec']>, Partial<StorageClass>, RegExp][] = [
    ['selector', { selector: {} }, {}, /claim Selector is not supported/],
    ['source', { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' } }, {}, /dataSource is not supported/],
    ['reference', { dataSourceRef: { kind: 'VolumeSnapshot', name: 'x' } }, {}, /dataSource is not supported/],
    ['block', { volumeMode: 'Block' }, {}, /volumeMode Block is not supported/],
    ['many', { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }, {}, /ReadWriteMany is not supported/],
    ['immediate', {}, { volumeBindingMode: 'Immediate' }, /needs volumeBindingMode: WaitForFirstConsumer/],
    ['parameters', {}, { parameters: { path: '/etc' } }, /has parameters/],
    ['options', {}, { mountOptions: ['ro'] }, /mountOptions are not supported/],
  ];
  for (const [what, spec, fields, expected] of table) {
    const action = decideClaim(snapshot(wanting(spec), { storageClass: { ...STANDARD, ...fields } }));
    assert.equal(action.kind, 'report', what);
    assert.match(messageOf(action), expected, what);
    assert.match(messageOf(action), /^failed to provision volume with StorageClass "standard": /);
  }
});

test('a missing node or one with a full disk is returned to the scheduler, with the reason', () => {
  const full = node('node-a');
  full.status.conditions = [{ type: 'DiskPressure', status: 'True' }];
  for (const [where, expected] of [
    [undefined, /node "node-a" does not exist/],
    [full, /node "node-a" has too little free disk space/],
  ] as const) {
    const action = decideClaim(snapshot(wanting(), { node: where }));
    assert.equal(action.kind, 'reschedule');
    assert.match(messageOf(action), expected);
    assert.deepEqual(action.kind === 'reschedule' && action.claim.metadata.annotations, ASKED);
  }
});

test('no volume is created for foreign, waiting, terminating or bound claims', () => {
  const going = wanting();
  going.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
  const made = buildVolume({ name: 'pvc-u-1', claim: wanting(), storageClass: STANDARD, node: node('node-a') });
  for (const each of [
    snapshot(wanting({}, {})),
    snapshot(
      wanting({}, { [SELECTED_NODE_ANNOTATION]: 'node-a', [STORAGE_PROVISIONER_ANNOTATION]: 'csi.example.com' }),
    ),
    snapshot(wanting({}, ASKED)),
    snapshot(wanting(), { storageClass: { ...STANDARD, provisioner: 'csi.example.com' } }),
    snapshot(going),
    snapshot(wanting(), { volume: made }),
    snapshot(wanting({ volumeName: 'pvc-u-1' }), { volume: made }),
  ])
    assert.deepEqual(decideClaim(each), { kind: 'none' });
  const taken = decideClaim(snapshot(wanting(), { volume: volume('pvc-u-1') }));
  assert.match(messageOf(taken), /a volume "pvc-u-1" exists that was not made for this claim/);
});

test('[RWO-02] data of a lost node are not recreated elsewhere: the claim reports their node', () => {
  const made = buildVolume({ name: 'pvc-u-1', claim: wanting(), storageClass: STANDARD, node: node('node-a') });
  const action = decideClaim(snapshot(wanting({ volumeName: 'pvc-u-1' }), { node: undefined, volume: made }));
  assert.equal(action.kind, 'report');
  assert.match(messageOf(action), /are on node "node-a", which does not exist any more: pods of this claim wait/);
});

test('with any claim, class and node: a volume is created only for a claim without one, on the selected existing node', () => {
  const any = fc.record({
    annotations: fc.constantFrom({}, ASKED, placed('node-a'), placed('node-b')),
    volumeName: fc.constantFrom('', 'pvc-u-1', 'other'),
    modes: fc.subarray(['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod']),
    provisioner: fc.constantFrom(LOCAL_PATH_PROVISIONER, 'csi.example.com'),
    mode: fc.constantFrom('Immediate', 'WaitForFirstConsumer'),
    exists: fc.boolean(),
    hasVolume: fc.boolean(),
    going: fc.boolean(),
  });
  fc.assert(
    fc.property(any, (x) => {
      const mine = wanting({ volumeName: x.volumeName, accessModes: x.modes }, { ...x.annotations });
      if (x.going) mine.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      const selected = mine.metadata.annotations?.[SELECTED_NODE_ANNOTATION];
      const made = buildVolume({ name: 'pvc-u-1', claim: wanting(), storageClass: STANDARD, node: node('node-a') });
      const action = decideClaim({
        claim: mine,
        storageClass: { ...STANDARD, provisioner: x.provisioner, volumeBindingMode: x.mode },
        node: x.exists && selected !== undefined ? node(selected) : undefined,
        volume: x.hasVolume ? made : undefined,
      });
      if (action.kind !== 'provision') return;
      assert.ok(x.exists && !x.hasVolume && !x.going && x.volumeName === '' && x.mode === 'WaitForFirstConsumer');
      assert.equal(localPathNode(action.volume), selected);
      assert.equal(action.volume.metadata.name, 'pvc-u-1', 'a second look asks for the same name');
      assert.equal(x.modes.includes('ReadWriteMany'), false);
    }),
  );
});

const stored = (phase: string, change: Partial<PersistentVolume['spec']> = {}, going = false): PersistentVolume => {
  const made = buildVolume({ name: 'pvc-u-1', claim: wanting(), storageClass: STANDARD, node: node('node-a') });
  const ending = going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  return { ...made, metadata: { ...made.metadata, ...ending }, spec: { ...made.spec, ...change }, status: { phase } };
};

test('with any state of a volume: bound ones stay, only a released one of this provisioner is deleted, and the finalizer of data on a live node stays with the node', () => {
  const any = fc.record({
    phase: fc.constantFrom('Pending', 'Available', 'Bound', 'Released', 'Failed'),
    policy: fc.constantFrom('Delete', 'Retain', 'Recycle'),
    going: fc.boolean(),
    exists: fc.boolean(),
    foreign: fc.boolean(),
    labelled: fc.boolean(),
  });
  fc.assert(
    fc.property(any, ({ phase, policy, going, exists, foreign, labelled }) => {
      const mine = stored(phase, { persistentVolumeReclaimPolicy: policy }, going);
      if (foreign) mine.metadata.annotations = {};
      if (!labelled) mine.metadata.labels = {};
      const action = decideVolume(mine, exists);
      if (action.kind === 'delete')
        assert.deepEqual([phase, policy, going, foreign, labelled], ['Released', 'Delete', false, false, true]);
      if (action.kind !== 'update') return;
      assert.deepEqual([action.volume.spec, action.volume.status], [mine.spec, mine.status]);
      const keeps = action.volume.metadata.finalizers?.includes(LOCAL_PATH_FINALIZER) === true;
      assert.equal(keeps, !going);
      if (!keeps) assert.ok(phase !== 'Bound' && (policy !== 'Delete' || !exists));
      assert.equal(decideVolume(action.volume, exists).kind === 'update', false, 'no thrash');
    }),
  );
});

const C = { namespace: 'default', name: 'data' };
const claimOf = (world: World): PersistentVolumeClaim => world.api.get(PERSISTENT_VOLUME_CLAIMS, C);
const volumesOf = (world: World): readonly PersistentVolume[] => world.api.list(PERSISTENT_VOLUMES);

interface Storage {
  readonly world: World;
  readonly settle: () => Promise<void>;
}

/** With the binder and the protection of volumes, as in a cluster. */
function startStorage(nodes: readonly string[] = ['node-a', 'node-b']): Storage {
  const world = createWorld();
  for (const name of nodes) world.api.put(NODES, node(name));
  world.api.put(STORAGE_CLASSES, STANDARD);
  const all = [volumeBindingController, localPathController, volumeProtectionController];
  const controllers = all.map((each) => new DrivenController(world, each));
  return { world, settle: () => settleAll(controllers) };
}

/** As the scheduler does for the first pod of the claim. */
function select(world: World, nodeName: string): void {
  const found = claimOf(world);
  const annotations = { ...found.metadata.annotations, [SELECTED_NODE_ANNOTATION]: nodeName };
  world.api.put(PERSISTENT_VOLUME_CLAIMS, { ...found, metadata: { ...found.metadata, annotations } });
}

async function bound(storage: Storage): Promise<PersistentVolume> {
  const { world, settle } = storage;
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('data', { storageClassName: 'standard' }));
  await settle();
  assert.deepEqual([claimOf(world).status.phase, volumesOf(world)], ['Pending', []], 'it waits for a pod');
  select(world, 'node-a');
  await settle();
  const [made] = volumesOf(world);
  assert.ok(made !== undefined && volumesOf(world).length === 1);
  assert.deepEqual([claimOf(world).status.phase, claimOf(world).spec.volumeName], ['Bound', made.metadata.name]);
  return made;
}

const reasonsOf = (world: World): readonly string[] =>
  world.api.events.map(({ about, reason }) => `${about} ${reason}`);

test('a claim waits for its pod, gets a volume on the node of the pod, and the volume is deleted with it', async () => {
  const storage = startStorage();
  const { world, settle } = storage;
  const made = await bound(storage);
  assert.deepEqual(
    [reasonsOf(world)[0], reasonsOf(world).at(-1)],
    ['data WaitForFirstConsumer', 'data ProvisioningSucceeded'],
  );
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, C);
  await settle();
  const [released] = volumesOf(world);
  assert.ok(released?.metadata.deletionTimestamp !== undefined, 'it is being deleted');
  assert.deepEqual(released.metadata.finalizers, [LOCAL_PATH_FINALIZER], 'until its node has removed the directory');
  assert.equal(released.metadata.uid, made.metadata.uid);
});

test('a volume with the policy Retain outlives its claim, and its own deletion needs no node', async () => {
  const storage = startStorage();
  const { world, settle } = storage;
  const made = await bound(storage);
  world.api.put(PERSISTENT_VOLUMES, { ...made, spec: { ...made.spec, persistentVolumeReclaimPolicy: 'Retain' } });
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, C);
  await settle();
  assert.equal(volumesOf(world)[0]?.status.phase, 'Released');
  assert.equal(volumesOf(world)[0]?.metadata.deletionTimestamp, undefined);
  await world.api.client('user').delete(PERSISTENT_VOLUMES, { name: made.metadata.name ?? '' });
  await settle();
  assert.deepEqual(volumesOf(world), []);
});

test('when the node is deleted, the claim reports it, and a deletion does not wait', async () => {
  const storage = startStorage();
  const { world, settle } = storage;
  await bound(storage);
  world.api.drop(NODES, { name: 'node-a' });
  await settle();
  assert.equal(reasonsOf(world).at(-1), 'data VolumeNodeLost');
  assert.deepEqual([claimOf(world).status.phase, volumesOf(world).length], ['Bound', 1]);
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, C);
  await settle();
  assert.deepEqual(volumesOf(world), []);
  assert.match(world.api.events.at(-1)?.message ?? '', /the directory of volume "pvc-.*" is not removed there/);
});

test('a node that a stale cache does not show yet gets its volume', async () => {
  const world = createWorld();
  world.api.put(STORAGE_CLASSES, STANDARD);
  const late = world.api.newInformers();
  const controller = new DrivenController(world, localPathController, late);
  late.of(NODES).freeze();
  world.api.put(NODES, node('node-a'));
  world.api.put(PERSISTENT_VOLUME_CLAIMS, wanting());
  await controller.settle();
  assert.equal(volumesOf(world).length, 1);
  assert.equal(claimOf(world).metadata.annotations?.[SELECTED_NODE_ANNOTATION], 'node-a');
});

test('a claim whose volume is deleted before it is bound gets another one', async () => {
  const world = createWorld();
  world.api.put(NODES, node('node-a'));
  world.api.put(STORAGE_CLASSES, STANDARD);
  world.api.put(PERSISTENT_VOLUME_CLAIMS, wanting());
  const controller = new DrivenController(world, localPathController);
  await controller.settle();
  const [made] = volumesOf(world);
  world.api.drop(PERSISTENT_VOLUMES, { name: made?.metadata.name ?? '' });
  await controller.settle();
  assert.deepEqual(
    volumesOf(world).map(({ metadata }) => metadata.name),
    [made?.metadata.name],
  );
});

test('two managers make one volume for a claim, whatever answers are lost', async () => {
  const world = createWorld();
  world.api.put(NODES, node('node-a'));
  world.api.put(STORAGE_CLASSES, STANDARD);
  world.api.put(PERSISTENT_VOLUME_CLAIMS, wanting());
  const late = world.api.newInformers();
  const managers = [
    new DrivenController(world, localPathController),
    new DrivenController(world, localPathController, late),
  ];
  late.of(PERSISTENT_VOLUMES).freeze();
  let isLost = false;
  world.api.afterWrite = ({ verb }) => {
    if (verb !== 'create' || isLost) return;
    isLost = true;
    throw new Error('the answer is lost');
  };
  await settleAll(managers);
  late.of(PERSISTENT_VOLUMES).thaw();
  await settleAll(managers);
  assert.equal(volumesOf(world).length, 1);
  assert.equal(managers.flatMap(({ errors }) => errors).length, 1);
});
