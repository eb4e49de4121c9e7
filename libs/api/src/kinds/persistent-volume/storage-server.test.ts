import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldError } from '@holdfast/machinery';
import type { CSIPersistentVolumeSource, PersistentVolume } from '../../generated/types.ts';
import { STORAGE_SERVER_DRIVER } from '../../semantics/well-known.ts';
import { validateCsiVolume } from '../../validation/pod/volume-sources.ts';
import { needsAttach } from './attachment.ts';
import { storageServerOf } from './storage-server.ts';
import { volumeChecks } from './validation.ts';

const CSI: CSIPersistentVolumeSource = {
  driver: STORAGE_SERVER_DRIVER,
  volumeHandle: 'data',
  volumeAttributes: { server: 'storage.example:9440' },
  nodePublishSecretRef: { namespace: 'storage', name: 'data-key' },
};

const volume = (csi: Partial<CSIPersistentVolumeSource> = {}, accessModes = ['ReadWriteOnce']): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'data' },
  spec: {
    accessModes,
    capacity: { storage: '1Gi' },
    persistentVolumeReclaimPolicy: 'Retain',
    volumeMode: 'Filesystem',
    csi: { ...CSI, ...csi },
  },
  status: {},
});

const errorsOf = (object: PersistentVolume): readonly string[] =>
  volumeChecks.validateCreate(object, { now: 0 }).map(({ field, detail }) => `${field}: ${detail}`);

test('[RWO-17] a volume of the storage server is attached to one node at a time', () => {
  assert.deepEqual(errorsOf(volume()), []);
  assert.equal(needsAttach(volume()), true);
  assert.deepEqual(storageServerOf(volume()), {
    volume: 'data',
    address: 'storage.example:9440',
    secret: { namespace: 'storage', name: 'data-key' },
  });
  assert.equal(storageServerOf(volume({ driver: 'csi.example.com' })), undefined);
});

test('a second PersistentVolume cannot refer to the data of another: the handle is the object name', () => {
  assert.deepEqual(errorsOf(volume({ volumeHandle: 'other' })), [
    'spec.csi.volumeHandle: must be the name of the PersistentVolume ("data")',
  ]);
  assert.deepEqual(errorsOf(volume({ driver: 'csi.example.com', volumeHandle: 'other' })), []);
});

for (const server of ['', 'storage.example', ':9440', 'a b:9440', 'storage.example:0', 'storage.example:65536', '-x:1'])
  test(`the address ${JSON.stringify(server)} of a storage server is refused`, () => {
    assert.deepEqual(errorsOf(volume({ volumeAttributes: { server } })), [
      'spec.csi.volumeAttributes[server]: must be host:port of the server',
    ]);
  });

test('the address of a storage server may be an IPv6 address', () => {
  assert.deepEqual(errorsOf(volume({ volumeAttributes: { server: '[::1]:9440' } })), []);
});

test('a volume of the storage server requires a key', () => {
  const { nodePublishSecretRef: _none, ...csi } = CSI;
  const { spec, ...rest } = volume();
  assert.match(errorsOf({ ...rest, spec: { ...spec, csi } }).join(), /nodePublishSecretRef: names the Secret/);
});

test('a volume of the storage server is not shared by nodes', () => {
  assert.match(errorsOf(volume({}, ['ReadWriteMany'])).join(), /must be ReadWriteOnce or ReadWriteOncePod/);
  assert.deepEqual(errorsOf(volume({}, ['ReadWriteOncePod'])), []);
});

test('a pod cannot use a volume of the storage server inline: it would have no attachment and no token', () => {
  const out: FieldError[] = [];
  validateCsiVolume(out, 'spec.volumes[0].csi', { driver: STORAGE_SERVER_DRIVER, volumeAttributes: { server: 'a:1' } });
  assert.deepEqual(
    out.map(({ detail }) => detail),
    ['can only be used through a PersistentVolumeClaim'],
  );
});
