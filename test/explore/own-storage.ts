import { SERVED_DRIVER } from './own-driver.ts';
import { apply, atOnce, claim, mounting, type OwnControllers, own, pod, remove } from './own-workload.ts';

const DRIVER = 'disk.example.com';
const cluster = (kind: string, name: string, fields: object) => ({
  apiVersion: kind === 'PersistentVolume' ? 'v1' : 'storage.k8s.io/v1',
  kind,
  metadata: { name },
  ...fields,
});

const servedSetup = [
  cluster('CSIDriver', SERVED_DRIVER, { spec: { attachRequired: true } }),
  cluster('StorageClass', 'disk', { provisioner: SERVED_DRIVER, allowVolumeExpansion: true, reclaimPolicy: 'Delete' }),
  cluster('CSINode', 'hollow-1', { spec: { drivers: [{ name: SERVED_DRIVER, nodeID: 'machine', topologyKeys: [] }] } }),
];
const served = (storage = '1Gi') => claim('data', { storageClassName: 'disk' }, storage);

const volume = cluster('PersistentVolume', 'disk', {
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    csi: { driver: DRIVER, volumeHandle: 'disk-1' },
    claimRef: { namespace: 'default', name: 'data' },
  },
});
const driver = cluster('CSIDriver', DRIVER, { spec: { attachRequired: true } });
const onNode = (name: string) => pod(`on-${name}`, { nodeName: name, ...mounting('data') });

/** A pod whose volume lives as long as it, and a next one of the same name. */
const scratch = (env: string) =>
  pod('scratch', {
    containers: [{ name: 'main', image: 'app', env: [{ name: 'GENERATION', value: env }] }],
    volumes: [{ name: 'space', ephemeral: { volumeClaimTemplate: { spec: claim('').spec } } }],
  });

const localClass = cluster('StorageClass', 'local', {
  provisioner: 'local-path.holdfast.io',
  volumeBindingMode: 'WaitForFirstConsumer',
  reclaimPolicy: 'Delete',
});
const localClaim = claim('data', { storageClassName: 'local' });

export const STORAGE_CONTROLLERS: readonly (readonly [string, OwnControllers])[] = [
  [
    'ephemeral-volume',
    own(['ephemeral-volume'], [apply(scratch('1')), atOnce(remove(scratch('1'))), apply(scratch('2'))]),
  ],
  [
    'attach-detach',
    own(
      ['persistentvolume-attach-detach'],
      [apply(onNode('hollow-1')), apply(onNode('hollow-2')), remove(onNode('hollow-1')), remove(onNode('hollow-2'))],
      { setup: [driver, volume, claim('data', { volumeName: 'disk' })], hollowNodes: 2 },
    ),
  ],
  [
    'csi',
    own(
      ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-left-claims', 'csi-left-volumes'],
      [
        apply(served()),
        apply(pod('user', mounting('data'))),
        apply(served('2Gi')),
        remove(pod('user')),
        remove(served()),
      ],
      // The cluster has no driver, so it has only the controllers of volumes that are left.
      { setup: servedSetup, without: ['csi-left-claims', 'csi-left-volumes'], quietMs: 1_500 },
    ),
  ],
  [
    'local-path',
    own(
      ['local-path-provisioner'],
      [
        atOnce(apply(localClaim)),
        apply(pod('user', mounting('data'))),
        atOnce(remove(pod('user'))),
        remove(localClaim),
      ],
      { setup: [localClass] },
    ),
  ],
];
