import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  CSI_DRIVERS,
  CSI_NODES,
  EVENTS,
  isVolumeInUse,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  type Pod,
  VOLUME_ATTACHMENTS,
  volumeAttachmentName,
} from '@holdfast/api';
import { type ApiClient, createApiClient, createDirectTransport } from '@holdfast/client';
import { createKubelet, createProbeNetwork, type Kubelet, readMachineFacts } from '@holdfast/kubelet';
import { createProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
import { unlessRoot } from '@holdfast/testing';
import { DiskStore } from '../support/csi-driver/disk-store.ts';
import { TOPOLOGY_KEY } from '../support/csi-driver/driver.ts';
import { type ServedCsiDriver, serveCsiDriver } from '../support/csi-driver/serve.ts';
import {
  clock,
  eventually,
  gone,
  nodeReady,
  podManifest,
  running,
  startApi,
  withCommand,
} from '../support/kubelet-cluster.ts';

const DRIVER = 'disk.test.holdfast.io';
const log = createSilentLog();
const random = createSystemRandom();

/** One node with real processes and a CSI driver on real sockets. The parts of controllers are played by hand. */
class World {
  readonly root = mkdtempSync(path.join(tmpdir(), 'holdfast-csi-'));
  readonly state = path.join(this.root, 'node');
  readonly disks = new DiskStore(path.join(this.root, 'disks'));
  readonly calls: string[] = [];
  /** Calls that fail, with their message. */
  readonly faults = new Map<string, string>();
  readonly admin: ApiClient;
  readonly #handle: Awaited<ReturnType<typeof startApi>>['handle'];
  #kubelet: Kubelet | undefined;
  #driver: ServedCsiDriver | undefined;
  #stop: () => Promise<void> = async () => {};

  constructor(api: Awaited<ReturnType<typeof startApi>>) {
    this.admin = api.admin;
    this.#handle = api.handle;
  }

  async startKubelet(): Promise<void> {
    const node = { ...readMachineFacts({ name: 'n1', stateDirectory: this.root }), address: '127.0.0.1' };
    const runtime = createProcessRuntime({ stateDirectory: this.state, clock, log, nodeAddress: () => node.address });
    const transport = createDirectTransport(this.#handle);
    const client = createApiClient({ transport, token: 'node-n1', userAgent: 'kubelet' });
    const network = createProbeNetwork(clock);
    const tools = { client, runtime, network, node, clock, random, ids: createIds(random), log };
    const kubelet = createKubelet({ ...tools, csi: { root: this.state } });
    await kubelet.start();
    this.#kubelet = kubelet;
    this.#stop = () => runtime.shutdown(0);
    await nodeReady(this.admin);
  }

  stopKubelet = async (): Promise<void> => this.#kubelet?.stop();

  /** As an embedded cluster does when it stops. */
  async shutDown(): Promise<void> {
    await this.#kubelet?.stop();
    await this.#stop();
    await this.#kubelet?.unmountAll();
  }

  /** What the kubelet answers to its API server. */
  async ask(path: string): Promise<string> {
    const answer = await this.#kubelet?.api({ method: 'GET', path, query: new URLSearchParams(), headers: {} });
    if (answer?.body.kind === 'text') return answer.body.text;
    return answer?.body.kind === 'json' ? JSON.stringify(answer.body.value()) : '';
  }

  async startDriver(): Promise<void> {
    this.#driver = await serveCsiDriver({
      name: DRIVER,
      root: path.join(this.root, 'disks'),
      nodeId: 'machine-1',
      maxVolumes: 7,
      endpoint: path.join(this.state, 'plugins_registry', 'disk.sock'),
      onCall: (call) => {
        this.calls.push(call);
        const fault = this.faults.get(call);
        if (fault !== undefined) throw new ConnectError(fault, Code.Internal);
      },
    });
  }

  stopDriver = async (): Promise<void> => this.#driver?.[Symbol.asyncDispose]();

  async end(): Promise<void> {
    await this.stopKubelet();
    await this.#stop();
    await this.stopDriver();
    rmSync(this.root, { recursive: true, force: true });
  }
}

async function startWorld(t: TestContext): Promise<World> {
  const api = await startApi();
  const world = new World(api);
  t.after(async () => {
    await world.end();
    await api.stop();
  });
  await world.startKubelet();
  await world.startDriver();
  await eventually(async () => {
    const found = await world.admin.find(CSI_NODES, { name: 'n1' });
    return (found?.spec.drivers ?? []).length > 0;
  }, 'the driver is registered');
  return world;
}

const target = { namespace: 'default', name: 'data' };

/** A claim that is bound to a volume of the driver. */
async function makeClaim(
  { admin, disks }: World,
  accessModes = ['ReadWriteOnce'],
  volumeMode = 'Filesystem',
): Promise<PersistentVolume> {
  const disk = disks.make('pv-1', 1024 ** 2, {});
  const claim = await admin.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: target,
    spec: {
      accessModes,
      volumeMode,
      resources: { requests: { storage: '1Mi' } },
      storageClassName: '',
      volumeName: 'pv-1',
    },
    status: {},
  });
  const claimRef = { ...target, uid: claim.metadata.uid ?? '' };
  const volume = await admin.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv-1' },
    spec: {
      accessModes,
      volumeMode,
      capacity: { storage: '1Mi' },
      claimRef,
      csi: { driver: DRIVER, volumeHandle: disk.id },
    },
    status: {},
  });
  await admin.updateStatus(PERSISTENT_VOLUME_CLAIMS, {
    ...claim,
    status: { phase: 'Bound', accessModes, capacity: { storage: '1Mi' } },
  });
  return volume;
}

const [main] = withCommand(['/bin/sh', '-c', 'echo written >> /data/file; exec sleep 600']);
assert.ok(main !== undefined);

const podOf = (name: string): Pod =>
  podManifest(name, {
    terminationGracePeriodSeconds: 1,
    containers: [{ ...main, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  });

/** As the attach controller does. */
async function nameUser({ admin }: World, pod: Pod): Promise<void> {
  const volume = await admin.get(PERSISTENT_VOLUMES, { name: 'pv-1' });
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const attachment = {
    nodeName: 'n1',
    nodeUID: 'u',
    attachedAt: '2026-01-01T00:00:00Z',
    pods: [{ namespace, name, uid }],
  };
  await admin.updateStatus(PERSISTENT_VOLUMES, { ...volume, status: { ...volume.status, attachment } });
}

/** As the attacher of the driver does. */
async function attach({ admin, disks }: World, { spec }: PersistentVolume): Promise<void> {
  assert.ok(spec.csi !== undefined);
  const made = await admin.create(VOLUME_ATTACHMENTS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: volumeAttachmentName(spec.csi, 'n1') },
    spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
    status: { attached: false },
  });
  const disk = disks.get(spec.csi.volumeHandle);
  assert.ok(disk !== undefined);
  disks.put({ ...disk, attachedTo: ['machine-1'] });
  const status = { attached: true, attachmentMetadata: { device: 'sdb' } };
  await admin.updateStatus(VOLUME_ATTACHMENTS, { ...made, status });
}

const eventOf = (admin: ApiClient, reason: string, text: RegExp): Promise<true> =>
  eventually(
    async () => {
      const { items } = await admin.list(EVENTS, { namespace: 'default' });
      return items.some((event) => event.reason === reason && text.test(event.message ?? ''));
    },
    `an event ${reason} with ${String(text)}`,
  );

test('a driver that registers is published as the CSINode, with its limit and topology', async (t) => {
  const world = await startWorld(t);
  const { admin } = world;
  const { spec, metadata } = await admin.get(CSI_NODES, { name: 'n1' });
  assert.deepEqual(spec.drivers, [
    { name: DRIVER, nodeID: 'machine-1', topologyKeys: [TOPOLOGY_KEY], allocatable: { count: 7 } },
  ]);
  const node = await admin.get(NODES, { name: 'n1' });
  assert.equal(node.metadata.labels?.[TOPOLOGY_KEY], 'machine-1');
  assert.equal(metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
  await world.stopDriver();
  await eventually(
    async () => ((await admin.get(CSI_NODES, { name: 'n1' })).spec.drivers ?? []).length === 0,
    'the driver is taken off when its socket is gone',
  );
});

test('[RWO-19] a volume is staged only after its attachment is confirmed, and the node reports it until it is unstaged', async (t) => {
  const world = await startWorld(t);
  const { admin, calls, disks } = world;
  await admin.create(CSI_DRIVERS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: {},
  });
  const volume = await makeClaim(world);
  const pod = await admin.create(PODS, podOf('writer'));
  await nameUser(world, pod);
  await eventually(
    async () => isVolumeInUse('pv-1', (await admin.get(NODES, { name: 'n1' })).status.volumesInUse ?? []),
    'the node reports the volume',
  );
  assert.deepEqual(calls, [], 'no VolumeAttachment is there');
  await attach(world, volume);
  await running(admin, 'writer');
  assert.deepEqual(calls, ['NodeStageVolume', 'NodePublishVolume']);
  const file = path.join(disks.directory(volume.spec.csi?.volumeHandle ?? ''), 'file');
  await eventually(async () => existsSync(file) && readFileSync(file, 'utf8') === 'written\n', 'the pod has written');
  calls.length = 0;
  world.faults.set('NodeUnpublishVolume', 'target is busy');
  await admin.delete(PODS, { namespace: 'default', name: 'writer' });
  await eventOf(admin, 'FailedUnmount', /rpc error: code = Internal desc = target is busy/);
  const { volumesInUse = [] } = (await admin.get(NODES, { name: 'n1' })).status;
  assert.ok(isVolumeInUse('pv-1', volumesInUse), 'reported while it is mounted');
  assert.ok((await admin.find(PODS, { namespace: 'default', name: 'writer' })) !== undefined);
  assert.equal(calls.filter((call) => call === 'NodeUnstageVolume').length, 0);
  world.faults.clear();
  await gone(admin, 'writer', pod.metadata.uid);
  await eventually(
    async () => !isVolumeInUse('pv-1', (await admin.get(NODES, { name: 'n1' })).status.volumesInUse ?? []),
    'the report ends',
  );
  assert.deepEqual(calls.slice(-2), ['NodeUnpublishVolume', 'NodeUnstageVolume']);
  assert.equal(readFileSync(file, 'utf8'), 'written\n', 'the data stay');
});

test('a restarted kubelet unmounts volumes of pods that ended meanwhile, when their driver is back', async (t) => {
  const world = await startWorld(t);
  const { admin, calls } = world;
  await admin.create(CSI_DRIVERS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: { attachRequired: false },
  });
  const volume = await makeClaim(world);
  const disk = world.disks.get(volume.spec.csi?.volumeHandle ?? '');
  assert.ok(disk !== undefined);
  world.disks.put({ ...disk, parameters: { attach: 'none' } });
  const pod = await admin.create(PODS, podOf('writer'));
  await nameUser(world, pod);
  await running(admin, 'writer');
  await world.stopKubelet();
  await world.stopDriver();
  await admin.delete(PODS, { namespace: 'default', name: 'writer' }, { gracePeriodSeconds: 0 });
  calls.length = 0;
  await world.startKubelet();
  const pods = path.join(world.state, 'pods');
  assert.equal(readdirSync(pods).length, 1, 'kept without the driver');
  await world.startDriver();
  await eventually(async () => readdirSync(pods).length === 0, 'nothing of the pod is left');
  assert.deepEqual(calls, ['NodeUnpublishVolume', 'NodeUnstageVolume']);
});

test('an inline volume ends with its pod, and the messages of its driver are events', async (t) => {
  const world = await startWorld(t);
  const { admin, disks } = world;
  await admin.create(CSI_DRIVERS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true },
  });
  world.faults.set('NodePublishVolume', 'no space in the pool');
  const manifest = podOf('scratch');
  const pod = await admin.create(PODS, {
    ...manifest,
    spec: { ...manifest.spec, volumes: [{ name: 'data', csi: { driver: DRIVER } }] },
  });
  await eventOf(
    admin,
    'FailedMount',
    /MountVolume.SetUp failed for volume "data" : rpc error: code = Internal desc = no space in the pool/,
  );
  world.faults.clear();
  await running(admin, 'scratch');
  assert.equal(disks.all().length, 1);
  await admin.delete(PODS, { namespace: 'default', name: 'scratch' });
  await gone(admin, 'scratch', pod.metadata.uid);
  assert.deepEqual(disks.all(), []);
});

test('the usage of volumes is in the statistics of the node; a node that shuts down unmounts them, and mounts them again at its next start', async (t) => {
  const world = await startWorld(t);
  const { admin, calls, disks } = world;
  await admin.create(CSI_DRIVERS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: { attachRequired: false },
  });
  const volume = await makeClaim(world);
  const disk = disks.get(volume.spec.csi?.volumeHandle ?? '');
  assert.ok(disk !== undefined);
  disks.put({ ...disk, parameters: { attach: 'none' } });
  const pod = await admin.create(PODS, podOf('writer'));
  await nameUser(world, pod);
  await running(admin, 'writer');
  const summary = JSON.parse(await world.ask('/stats/summary')) as { pods: { volume?: object[] }[] };
  const [entry] = summary.pods[0]?.volume ?? [];
  assert.deepEqual(
    { ...entry, time: '' },
    {
      time: '',
      capacityBytes: 1024 ** 2,
      usedBytes: 4096,
      availableBytes: 1024 ** 2 - 4096,
      name: 'data',
      pvcRef: { name: 'data', namespace: 'default' },
    },
  );
  const labels = '{namespace="default",persistentvolumeclaim="data"}';
  assert.ok((await world.ask('/metrics')).includes(`kubelet_volume_stats_used_bytes${labels} 4096\n`));
  assert.equal(calls.filter((call) => call === 'NodeGetVolumeStats').length, 1, 'asked once for both');
  calls.length = 0;
  await world.shutDown();
  assert.deepEqual(calls, ['NodeUnpublishVolume', 'NodeUnstageVolume']);
  await world.startKubelet();
  const file = path.join(disks.directory(disk.id), 'file');
  await eventually(() => readFileSync(file, 'utf8') === 'written\nwritten\n', 'the pod runs again with its volume');
});

test('a block volume is a device of the pod, which its user may write, and nothing is left of it', {
  skip: unlessRoot(),
}, async (t) => {
  const world = await startWorld(t);
  const { admin, disks } = world;
  await admin.create(CSI_DRIVERS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: {},
  });
  const volume = await makeClaim(world, ['ReadWriteMany'], 'Block');
  const id = volume.spec.csi?.volumeHandle ?? '';
  t.after(() => disks.detachDevice(id));
  await attach(world, volume);
  const write = ['/bin/sh', '-c', 'printf holdfast | dd of=/dev/xvda conv=notrunc,fsync status=none; exec sleep 600'];
  const [writer] = withCommand(write);
  assert.ok(writer !== undefined);
  const pod = podManifest('raw', {
    terminationGracePeriodSeconds: 1,
    containers: [{ ...writer, volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  });
  const { metadata } = await admin.create(PODS, pod);
  await running(admin, 'raw');
  const device = disks.attachDevice(disks.make('pv-1', 0, {}));
  await eventually(async () => headOf(device) === 'holdfast', 'the pod wrote to the device');
  await admin.delete(PODS, { namespace: 'default', name: 'raw' });
  await gone(admin, 'raw', metadata.uid);
  await eventually(async () => disks.devices(id).length === 0, 'the volume is unstaged');
  const mounted = podManifest('wrong', {
    containers: [{ ...writer, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  });
  await admin.create(PODS, mounted);
  await eventOf(admin, 'FailedMount', /volume data has volumeMode Block, but is specified in volumeMounts/);
});

function headOf(device: string): string {
  const bytes = Buffer.alloc(8);
  const descriptor = openSync(device, 'r');
  readSync(descriptor, bytes);
  closeSync(descriptor);
  return bytes.toString('utf8');
}
