import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUMES, PROVISIONED_BY_ANNOTATION, VOLUME_ATTACHMENTS } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { LEFT_DRIVER_PATIENCE_MS } from '../../limits.ts';
import { CsiDriverModel, MODEL_DRIVER } from '../../testing/csi-driver-model.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { volume } from '../../testing/volume-builders.ts';
import { decideLeftVolume } from './decide-left.ts';
import { csiLeftVolumesController } from './left-volumes.ts';
import { PROVISIONER_FINALIZER } from './names.ts';

const SOURCE = { driver: MODEL_DRIVER, volumeHandle: 'vol-7' };
const ATTACHER = 'external-attacher/disk-test';

test('a volume and an attachment that wait for a driver without helpers are told what to do, after a minute', async () => {
  const world = createWorld();
  const { api, clock } = world;
  const deletionTimestamp = formatTime(clock.now());
  const held = { finalizers: [PROVISIONER_FINALIZER, ATTACHER], deletionTimestamp };
  api.put(PERSISTENT_VOLUMES, volume('gone', { csi: SOURCE }, held));
  api.put(VOLUME_ATTACHMENTS, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'csi-1', finalizers: [ATTACHER], deletionTimestamp },
    spec: { attacher: MODEL_DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'gone' } },
    status: { attached: true },
  });
  const left = new DrivenController(world, csiLeftVolumesController(new Map()));
  const named = new DrivenController(world, csiLeftVolumesController(new Map([[MODEL_DRIVER, new CsiDriverModel()]])));
  await left.settle();
  assert.equal(api.events.length, 0);
  clock.skip(LEFT_DRIVER_PATIENCE_MS);
  await named.settle();
  assert.equal(api.events.length, 0);
  await left.settle();
  assert.deepEqual(
    api.events.map(({ about, reason }) => `${about} ${reason}`),
    ['gone VolumeFailedDelete', 'csi-1 VolumeFailedDetach'],
  );
  const [ofVolume = '', ofAttachment = ''] = api.events.map(({ message }) => message);
  assert.match(
    ofVolume,
    /name the driver disk.test, .* delete its volume vol-7 by hand, .*external-provisioner.* and ext/,
  );
  assert.match(
    ofAttachment,
    /node n1 does not use the volume .* finalizer external-attacher\/disk-test off the attach/,
  );
});

test('a released volume that its driver should delete counts, one that is kept or in use does not', () => {
  const made = { finalizers: [PROVISIONER_FINALIZER], annotations: { [PROVISIONED_BY_ANNOTATION]: MODEL_DRIVER } };
  const kindOf = (phase: string, policy: 'Delete' | 'Retain'): string => {
    const each = volume('data', { csi: SOURCE, persistentVolumeReclaimPolicy: policy }, made);
    return decideLeftVolume({ ...each, status: { phase } }, new Set(), LEFT_DRIVER_PATIENCE_MS).kind;
  };
  assert.deepEqual(
    [kindOf('Released', 'Delete'), kindOf('Released', 'Retain'), kindOf('Bound', 'Delete')],
    ['report', 'none', 'none'],
  );
});
