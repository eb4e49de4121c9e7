import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CSI_NODES,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import { pathFor } from '@holdfast/client/testing';
import type { JsonObject } from '@holdfast/machinery';
import { configured } from './testing/cluster.ts';
import { nodeOf, type Rig, rig } from './testing/rig.ts';

const claimPath = pathFor(PERSISTENT_VOLUME_CLAIMS, 'default', 'data');
const volumePath = pathFor(PERSISTENT_VOLUMES, '', 'v');

async function withClaim(provisioner: string, args: JsonObject = {}): Promise<Rig> {
  const made = await rig(1, { configuration: configured('VolumeBinding', args) });
  const put = (path: string, object: KubeObject & Record<string, unknown>): unknown => made.api.put(path, object);
  put(pathFor(STORAGE_CLASSES, '', 'wait'), {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'wait' },
    provisioner,
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  put(claimPath, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default', uid: 'uid-data' },
    spec: { storageClassName: 'wait', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Pending' },
  });
  put(volumePath, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: { storageClassName: 'wait', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
    status: { phase: provisioner === 'kubernetes.io/no-provisioner' ? 'Available' : 'Bound' },
  });
  made.addNode('n1');
  await made.clock.advance(100);
  made.addPod('p', { spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] } });
  await made.clock.advance(3_000);
  return made;
}

/** Acts as the volume controller. */
function bindClaim({ api }: Rig): void {
  const claim = api.objects().get(claimPath) as KubeObject & { spec: object };
  api.put(claimPath, {
    ...claim,
    spec: { ...claim.spec, volumeName: 'v' },
    status: { phase: 'Bound' },
  } as KubeObject);
}

test('a WaitForFirstConsumer volume is reserved and bound before the pod is', async () => {
  const made = await withClaim('kubernetes.io/no-provisioner');
  const { clock, api, pod, schedulers, stop } = made;
  const volume = api.objects().get(volumePath) as KubeObject & { spec: { claimRef?: { uid?: string } } };
  assert.equal(volume.spec.claimRef?.uid, 'uid-data');
  assert.deepEqual([nodeOf(pod('p')), schedulers[0]?.counters().assumed], [undefined, 1]);
  bindClaim(made);
  await clock.advance(3_000);
  assert.equal(nodeOf(pod('p')), 'n1');
  await stop();
});

test('a volume to provision is requested on the node of the pod', async () => {
  const made = await withClaim('driver.test');
  const { clock, api, pod, stop } = made;
  const claim = api.objects().get(claimPath);
  assert.equal(claim?.metadata.annotations?.['volume.kubernetes.io/selected-node'], 'n1');
  bindClaim(made);
  await clock.advance(3_000);
  assert.equal(nodeOf(pod('p')), 'n1');
  await stop();
});

test('a volume to provision that is bound out of reach of the node does not take the pod there', async () => {
  const made = await withClaim('driver.test');
  const { clock, api, addNode, pod, stop } = made;
  const volume = api.objects().get(volumePath) as KubeObject & { spec: object };
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n2'] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  api.put(volumePath, { ...volume, spec: { ...volume.spec, nodeAffinity } } as KubeObject);
  bindClaim(made);
  await clock.advance(1_500);
  const condition = pod('p')?.status.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.match(condition?.message ?? '', /pv "v" node affinity doesn't match node "n1"/);
  addNode('n2');
  await clock.advance(15_000);
  assert.equal(nodeOf(pod('p')), 'n2');
  await stop();
});

test('a volume that is not bound in time releases the reservation, reports it, and is retried', async () => {
  const made = await withClaim('driver.test', { bindTimeoutSeconds: 20 });
  const { clock, pod, schedulers, stop } = made;
  await clock.advance(18_500);
  const condition = pod('p')?.status.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.deepEqual(
    [condition?.reason, condition?.message],
    ['SchedulerError', 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'],
  );
  await clock.advance(10_000);
  assert.equal(schedulers[0]?.counters().assumed, 1, 'it is on its way again');
  bindClaim(made);
  await clock.advance(15_000);
  assert.equal(nodeOf(pod('p')), 'n1');
  await stop();
});

test('a provisioner that rejects the node ends the wait at once', async () => {
  const made = await withClaim('driver.test');
  const { clock, api, pod, stop } = made;
  const claim = api.objects().get(claimPath);
  assert.ok(claim !== undefined);
  api.put(claimPath, { ...claim, metadata: { ...claim.metadata, annotations: {} } });
  await clock.advance(1_500);
  const condition = pod('p')?.status.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.match(condition?.message ?? '', /provisioning failed for PVC "data"/);
  await stop();
});

test('a volume that is still attached counts on its node until it is detached', async () => {
  const made = await rig();
  const { clock, api, pod, stop } = made;
  const put = (path: string, object: KubeObject & Record<string, unknown>): unknown => api.put(path, object);
  for (const name of ['v', 'left']) {
    put(pathFor(PERSISTENT_VOLUMES, '', name), {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { csi: { driver: 'driver.test', volumeHandle: name } },
      status: { phase: 'Bound' },
    });
  }
  put(claimPath, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default', uid: 'uid-data' },
    spec: { volumeName: 'v', resources: {} },
    status: { phase: 'Bound' },
  });
  put(pathFor(CSI_NODES, '', 'n1'), {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'n1' },
    spec: { drivers: [{ name: 'driver.test', nodeID: 'n1', allocatable: { count: 1 } }] },
  });
  const attachmentPath = pathFor(VOLUME_ATTACHMENTS, '', 'old');
  put(attachmentPath, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'old' },
    spec: { attacher: 'driver.test', nodeName: 'n1', source: { persistentVolumeName: 'left' } },
    status: { attached: true },
  });
  made.addNode('n1');
  await clock.advance(100);
  made.addPod('p', { spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] } });
  await clock.advance(3_000);
  const [condition] = pod('p')?.status.conditions ?? [];
  assert.match(condition?.message ?? '', /1 node\(s\) exceed max volume count/);
  api.remove(attachmentPath);
  await clock.advance(3_000);
  assert.equal(nodeOf(pod('p')), 'n1');
  await stop();
});
