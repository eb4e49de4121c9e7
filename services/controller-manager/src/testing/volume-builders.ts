import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '@holdfast/api';

export const volume = (
  name: string,
  spec: Partial<PersistentVolume['spec']> = {},
  metadata: PersistentVolume['metadata'] = {},
): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, finalizers: ['kubernetes.io/pv-protection'], ...metadata },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    hostPath: { path: '/data' },
    persistentVolumeReclaimPolicy: 'Retain',
    ...spec,
  },
  status: { phase: 'Pending' },
});

export const claim = (
  name: string,
  spec: Partial<PersistentVolumeClaim['spec']> = {},
  metadata: PersistentVolumeClaim['metadata'] = {},
): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'default', name, finalizers: ['kubernetes.io/pvc-protection'], ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  status: { phase: 'Pending' },
});

export const storageClass = (name: string, fields: Partial<StorageClass> = {}): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'Immediate',
  ...fields,
});
