import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  EVENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { CsiCluster, type CsiClusterOptions, DRIVER } from '../support/csi-cluster.ts';
import { waitFor } from '../support/wait.ts';

const CLAIM = { namespace: 'default', name: 'data' };

const claim = (change: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: CLAIM,
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Mi' } },
    storageClassName: 'disk',
    ...change,
  },
  status: {},
});

const pod = (name: string, node?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name },
  spec: {
    terminationGracePeriodSeconds: 1,
    ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
    containers: [
      {
        name: 'main',
        image: 'busybox:1.36',
        command: ['/bin/sh', '-c', `echo ${name} >> /data/file; exec sleep 600`],
        resources: {},
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
  status: {},
});

async function start(t: TestContext, options: CsiClusterOptions = {}): Promise<CsiCluster> {
  const cluster = await CsiCluster.start(options);
  t.after(() => cluster[Symbol.asyncDispose]());
  return cluster;
}

const running = (admin: ApiClient, name: string): Promise<Pod> =>
  waitFor(`pod ${name} runs`, async () => {
    const found = await admin.find(PODS, { namespace: 'default', name });
    return found?.status.phase === 'Running' && found;
  });

async function end(admin: ApiClient, name: string): Promise<void> {
  await admin.delete(PODS, { namespace: 'default', name });
  await waitFor(
    `pod ${name} is gone`,
    async () => (await admin.find(PODS, { namespace: 'default', name })) === undefined,
  );
}

const volumesOf = async (admin: ApiClient): Promise<readonly PersistentVolume[]> =>
  (await admin.list(PERSISTENT_VOLUMES)).items;

async function onlyVolume(admin: ApiClient): Promise<PersistentVolume> {
  const [volume, ...others] = await volumesOf(admin);
  assert.ok(volume !== undefined && others.length === 0);
  return volume;
}

const said = (admin: ApiClient, reason: string, text: RegExp): Promise<true> =>
  waitFor(`an event ${reason} with ${String(text)}`, async () => {
    const { items } = await admin.list(EVENTS);
    return items.some((event) => event.reason === reason && text.test(event.message ?? ''));
  });

const written = (cluster: CsiCluster, volume: PersistentVolume, text: string): Promise<true> => {
  const file = path.join(cluster.disks.directory(volume.spec.csi?.volumeHandle ?? ''), 'file');
  return waitFor(
    `the volume has ${JSON.stringify(text)}`,
    () => existsSync(file) && readFileSync(file, 'utf8') === text,
  );
};

test('[RWO-19] a claim gets a volume of its driver, which moves with its pods from node to node and ends with the claim', async (t) => {
  const cluster = await start(t, { nodes: ['a', 'b'] });
  const { admin, calls, disks } = cluster;
  await cluster.makeClass({ parameters: { kind: 'fast', 'csi.storage.k8s.io/fstype': 'ext4' } });
  await admin.create(PERSISTENT_VOLUME_CLAIMS, claim());
  await admin.create(PODS, pod('one', 'a'));
  await running(admin, 'one');
  const volume = await onlyVolume(admin);
  assert.deepEqual(
    [volume.spec.csi?.driver, volume.spec.csi?.volumeAttributes, volume.spec.csi?.fsType, volume.spec.capacity],
    [DRIVER, { kind: 'fast' }, 'ext4', { storage: '1Mi' }],
  );
  assert.deepEqual(calls.slice(0, 4), [
    'controller CreateVolume',
    'controller ControllerPublishVolume',
    'a NodeStageVolume',
    'a NodePublishVolume',
  ]);
  await written(cluster, volume, 'one\n');
  await admin.create(PODS, pod('two', 'b'));
  await said(admin, 'FailedAttachVolume', /already used by pod\(s\) one/);
  calls.length = 0;
  await end(admin, 'one');
  await running(admin, 'two');
  await written(cluster, volume, 'one\ntwo\n');
  assert.deepEqual(calls, [
    'a NodeUnpublishVolume',
    'a NodeUnstageVolume',
    'controller ControllerUnpublishVolume',
    'controller ControllerPublishVolume',
    'b NodeStageVolume',
    'b NodePublishVolume',
  ]);
  const { items: attachments } = await admin.list(VOLUME_ATTACHMENTS);
  assert.deepEqual(
    attachments.map(({ spec, status }) => [spec.nodeName, status.attached]),
    [['b', true]],
  );
  calls.length = 0;
  await end(admin, 'two');
  await admin.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM);
  await waitFor('the volume is gone', async () => (await volumesOf(admin)).length === 0);
  assert.deepEqual(disks.all(), []);
  assert.deepEqual(calls.slice(-2), ['controller ControllerUnpublishVolume', 'controller DeleteVolume']);
  assert.deepEqual((await admin.list(VOLUME_ATTACHMENTS)).items, []);
});

test('a volume with the policy Retain stays with its data; a claim is expanded on the driver and on the node', async (t) => {
  const cluster = await start(t);
  const { admin, disks, calls } = cluster;
  await cluster.makeClass({ reclaimPolicy: 'Retain' });
  await admin.create(PERSISTENT_VOLUME_CLAIMS, claim());
  await admin.create(PODS, pod('one'));
  await running(admin, 'one');
  const met = await admin.get(PERSISTENT_VOLUME_CLAIMS, CLAIM);
  await admin.update(PERSISTENT_VOLUME_CLAIMS, {
    ...met,
    spec: { ...met.spec, resources: { requests: { storage: '3Mi' } } },
  });
  await said(admin, 'FileSystemResizeRequired', /Require file system resize of volume on node/);
  const grown = await onlyVolume(admin);
  assert.deepEqual([grown.spec.capacity, disks.all()[0]?.bytes], [{ storage: '3Mi' }, 3 * 1024 ** 2]);
  // The kubelet expands the file system when it next looks at the volumes of the pod.
  await end(admin, 'one');
  await admin.create(PODS, pod('again'));
  await running(admin, 'again');
  const { status } = await waitFor('the claim has its size', async () => {
    const found = await admin.get(PERSISTENT_VOLUME_CLAIMS, CLAIM);
    return found.status.capacity?.['storage'] === '3Mi' && found;
  });
  assert.deepEqual([status.conditions ?? [], status.allocatedResources ?? {}], [[], {}]);
  assert.ok(calls.includes('a NodeExpandVolume'));
  await end(admin, 'again');
  await admin.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM);
  await waitFor('the volume is released', async () => (await onlyVolume(admin)).status.phase === 'Released');
  await waitFor('it is detached', async () => (await admin.list(VOLUME_ATTACHMENTS)).items.length === 0);
  await admin.delete(PERSISTENT_VOLUMES, { name: grown.metadata.name ?? '' });
  await waitFor('its object is gone', async () => (await volumesOf(admin)).length === 0);
  assert.equal(disks.all().length, 1, 'the data stay');
  assert.equal(calls.includes('controller DeleteVolume'), false);
});

test('a driver that is down is named in an event, and serves the claim when it is back; snapshots are refused', async (t) => {
  const cluster = await start(t);
  const { admin, faults, disks } = cluster;
  await cluster.makeClass({ volumeBindingMode: 'Immediate' });
  await admin.create(PERSISTENT_VOLUME_CLAIMS, {
    ...claim({ dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'yesterday' } }),
    metadata: { namespace: 'default', name: 'copy' },
  });
  await said(admin, 'ProvisioningFailed', /snapshots are not supported: create the claim without dataSource/);
  await cluster.stopController();
  await admin.create(PERSISTENT_VOLUME_CLAIMS, claim());
  await said(admin, 'ProvisioningFailed', /code = Unavailable desc = no answer at .*controller\.sock/);
  faults.set('ControllerPublishVolume', 'the array is busy');
  await cluster.startController();
  await admin.create(PODS, pod('one'));
  await said(admin, 'FailedAttachVolume', /the array is busy/);
  faults.clear();
  await running(admin, 'one');
  assert.equal(disks.all().length, 1);
});

test('a manager that ends between CreateVolume and the volume object leaks nothing, whether the claim stays or is deleted', async (t) => {
  const made = Promise.withResolvers<void>();
  let isCrash = true;
  const cluster = await start(t, {
    around: (driver) => ({
      name: driver.name,
      abilities: () => driver.abilities(),
      create: async (request) => {
        const created = await driver.create(request);
        if (!isCrash) return created;
        made.resolve();
        throw new Error('the process ended here');
      },
      delete: (request) => driver.delete(request),
      attach: (request) => driver.attach(request),
      detach: (request) => driver.detach(request),
      expand: (request) => driver.expand(request),
      close: () => driver.close(),
    }),
  });
  const { admin, disks } = cluster;
  await cluster.makeClass({ volumeBindingMode: 'Immediate' });
  await admin.create(PERSISTENT_VOLUME_CLAIMS, claim());
  await made.promise;
  await cluster.stopManager();
  assert.deepEqual([disks.all().length, await volumesOf(admin)], [1, []]);
  await admin.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM);
  isCrash = false;
  await cluster.startManager();
  await waitFor('the claim is gone', async () => (await admin.find(PERSISTENT_VOLUME_CLAIMS, CLAIM)) === undefined);
  await waitFor('the volume is gone', async () => disks.all().length === 0 && (await volumesOf(admin)).length === 0);
});
