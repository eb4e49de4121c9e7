import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  volumeInUse,
} from '@holdfast/api';
import { type ApiClient, TransportError } from '@holdfast/client';
import { VolumeError } from '../domain/volume-files.ts';
import type { SandboxStatus } from '../runtime/port.ts';
import { AttachWait, VolumeAttachments } from './volume-attachments.ts';

const UID = 'pod-1';
const ENTRY = volumeInUse('disk', UID);
const pod = (fields: Partial<Pod['metadata']> = {}, status: Pod['status'] = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'one', uid: UID, ...fields },
  spec: { containers: [], volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
  status,
});

const claim: PersistentVolumeClaim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'default', name: 'data' },
  spec: { volumeName: 'disk', resources: {} },
  status: { phase: 'Bound' },
};

const disk = (nodeName?: string, podUid = UID): PersistentVolume => {
  const pods = [{ namespace: 'default', name: 'one', uid: podUid }];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: { accessModes: ['ReadWriteOnce'], nfs: { server: 's', path: '/' } },
    status: nodeName === undefined ? {} : { attachment: { nodeName, nodeUID: 'u', pods } },
  };
};

const nodeThatSays = (...volumesInUse: string[]): Pick<Node, 'status'> => ({
  status: { volumesInUse, daemonEndpoints: {}, nodeInfo: {} } as unknown as Node['status'],
});

const sandbox = (...states: readonly string[]): SandboxStatus =>
  ({ containers: states.map((state) => ({ state })) }) as unknown as SandboxStatus;

function rig(here: readonly string[] = [UID]) {
  const api: { claim: PersistentVolumeClaim | undefined; volume: PersistentVolume | undefined; error?: Error } = {
    claim,
    volume: disk('n1'),
  };
  let changes = 0;
  const client = {
    find: async (resource: unknown) => {
      if (api.error !== undefined) throw api.error;
      return resource === PERSISTENT_VOLUME_CLAIMS ? api.claim : api.volume;
    },
  } as unknown as ApiClient;
  const attachments = new VolumeAttachments({
    client,
    nodeName: 'n1',
    isHere: (uid) => here.includes(uid),
    onChange: () => changes++,
  });
  attachments.seen(nodeThatSays());
  return { api, attachments, changes: () => changes };
}

test('[RWO-05] [RWO-07] [RWO-10] [RWO-14] [RWO-19] a pod starts only after the volume names this node and this pod, and after the API has the status of the node', async () => {
  const { api, attachments, changes } = rig();
  for (const volume of [disk(), disk('n2'), disk('n1', 'another pod')]) {
    api.volume = volume;
    await assert.rejects(attachments.ensure(pod()), AttachWait);
    assert.deepEqual(attachments.inUse(), [], 'nothing is said of a volume that somebody else has');
  }
  api.volume = disk('n1');
  await assert.rejects(attachments.ensure(pod()), /has yet to say/);
  assert.deepEqual([attachments.inUse(), changes()], [[ENTRY], 1]);
  await assert.rejects(attachments.ensure(pod()), AttachWait, 'said, but not stored yet');
  attachments.seen(nodeThatSays(ENTRY));
  await attachments.ensure(pod());
});

test('[RWO-19] an attachment removed between the status of the node and the check is detected', async () => {
  const { api, attachments } = rig();
  await assert.rejects(attachments.ensure(pod()), AttachWait);
  attachments.seen(nodeThatSays(ENTRY));
  api.volume = disk();
  await assert.rejects(attachments.ensure(pod()), AttachWait);
});

test('[RWO-19] while the API does not answer no pod starts', async () => {
  const { api, attachments } = rig();
  await assert.rejects(attachments.ensure(pod()), AttachWait);
  attachments.seen(nodeThatSays(ENTRY));
  api.error = new TransportError('the wire is cut');
  await assert.rejects(attachments.ensure(pod()), /the wire is cut/);
  await assert.rejects(attachments.ensure(pod()), AttachWait);
});

test('a missing or unbound claim is its own error; volumes that need no attach are not read', async () => {
  const { api, attachments } = rig();
  api.claim = { ...claim, status: { phase: 'Pending' } };
  await assert.rejects(attachments.ensure(pod()), VolumeError);
  api.claim = undefined;
  await assert.rejects(attachments.ensure(pod()), VolumeError);
  api.claim = claim;
  api.volume = { ...disk(), spec: { ...disk().spec, accessModes: ['ReadWriteMany'] } };
  await attachments.ensure(pod());
  assert.deepEqual(attachments.inUse(), []);
});

test('[SAFE-07] a restart does not wait for an API that is away for a volume that no node attaches', async () => {
  const { api, attachments } = rig();
  const away = new TransportError('the wire is cut');
  api.volume = { ...disk(), spec: { ...disk().spec, accessModes: ['ReadWriteMany'] } };
  api.error = away;
  await assert.rejects(attachments.ensure(pod()), AttachWait, 'nobody knows the volume yet');
  delete api.error;
  await attachments.ensure(pod());
  api.error = away;
  await attachments.ensure(pod());
  await assert.rejects(attachments.ensure(pod({ uid: 'another' })), AttachWait);
  attachments.observe(UID, pod({}, { phase: 'Failed' }), []);
  await assert.rejects(attachments.ensure(pod()), AttachWait, 'nothing is kept of a pod that is over');
});

test('[RWO-11] a volume is in use until nothing of the pod is left; for a finished pod, until its last process is dead', async () => {
  const going = pod({ deletionTimestamp: '2026-01-01T00:00:00Z' });
  const ended = pod({}, { phase: 'Failed' });
  const cases = [
    { object: pod(), sandboxes: [], holds: true },
    { object: going, sandboxes: [sandbox('exited')], holds: true },
    { object: going, sandboxes: [], holds: false },
    { object: undefined, sandboxes: [sandbox('running')], holds: true },
    { object: undefined, sandboxes: [], holds: false },
    { object: ended, sandboxes: [sandbox('exited', 'running')], holds: true },
    { object: ended, sandboxes: [sandbox('exited')], holds: false },
  ];
  for (const [i, { object, sandboxes, holds }] of cases.entries()) {
    const { attachments } = rig();
    await assert.rejects(attachments.ensure(pod()), AttachWait);
    attachments.observe(UID, object, sandboxes);
    assert.equal(attachments.inUse().length > 0, holds, `case ${i}`);
  }
});

test('[RWO-19] a new kubelet repeats the report of the one before it for pods that still exist, and for no other', () => {
  const attachments = new VolumeAttachments({
    client: {} as unknown as ApiClient,
    nodeName: 'n1',
    isHere: (uid) => uid === UID,
    onChange: () => {},
  });
  attachments.seen(nodeThatSays(ENTRY, volumeInUse('disk', 'long gone'), 'kubernetes.io/nfs/other'));
  assert.deepEqual(attachments.inUse(), [ENTRY]);
  attachments.seen(nodeThatSays(volumeInUse('disk', 'another')));
  assert.deepEqual(attachments.inUse(), [ENTRY], 'only the first look counts');
});
