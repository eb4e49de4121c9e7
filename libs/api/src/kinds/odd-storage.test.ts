import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, replaced, row, stored } from './testing.ts';

type Case = readonly [spec: JsonObject, errors: readonly string[], metadata?: JsonObject];

const NFS = { server: 's', path: '/p' };
const volume = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'v', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, ...spec },
});
const claim = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'c', namespace: 'n', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});

function check(make: (spec: JsonObject, metadata?: JsonObject) => JsonObject, cases: readonly Case[]): void {
  for (const [spec, errors, metadata] of cases) {
    const document = make(spec, metadata);
    compareTexts(refusals(document), errors, JSON.stringify(document));
  }
}

test('volumes: common and source-specific validation', () => {
  const one = (source: JsonObject, errors: readonly string[]): Case => [source, errors];
  check(volume, [
    [
      { accessModes: [], capacity: {}, nfs: NFS },
      [
        'spec.accessModes: Required value',
        'spec.capacity: Required value',
        'spec.capacity: Unsupported value: core.ResourceList(nil): supported values: "storage"',
      ],
    ],
    [
      { accessModes: ['X', 'ReadWriteOncePod', 'ReadOnlyMany'], nfs: NFS },
      [
        'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
      ],
    ],
    [
      { capacity: { storage: '-1' }, nfs: NFS },
      [
        'spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
        'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
      ],
    ],
    [
      { nfs: NFS, persistentVolumeReclaimPolicy: 'X', volumeMode: 'Y', storageClassName: 'A' },
      [
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "X": supported values: "Delete", "Recycle", "Retain"',
        'spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain…',
        'spec.volumeMode: Unsupported value: "Y": supported values: "Block", "Filesystem"',
      ],
    ],
    one({}, ['spec: Required value: must specify a volume type']),
    one({ nfs: NFS, hostPath: { path: '/' } }, ['spec.nfs: Forbidden: may not specify more than 1 volume type']),
    one({ hostPath: { path: '/' }, flexVolume: { driver: '' } }, ['spec.flexVolume.driver: Required value']),
    [
      { hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
      [`spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'`],
    ],
    one({ local: { path: '/a/..' }, csi: { driver: 'd', volumeHandle: 'h' } }, [
      `spec.local.path: Invalid value: "/a/..": must not contain '..'`,
      'spec.nodeAffinity: Required value: Local volume requires node affinity',
      'spec.csi: Forbidden: may not specify more than 1 volume type',
    ]),
    [
      { local: { path: '/a' }, nodeAffinity: {} },
      ['spec.nodeAffinity.required: Required value: must specify required node constraints'],
    ],
    one({ csi: { driver: '', volumeHandle: '', nodePublishSecretRef: { name: '', namespace: 'N' } } }, [
      'spec.csi.driver: Required value',
      'spec.csi.driver: Invalid value: "": a lowercase RFC 1123 subdomain…',
      'spec.csi.volumeHandle: Required value',
      'spec.csi.nodePublishSecretRef.name: Required value',
      'spec.csi.nodePublishSecretRef.namespace: Invalid value: "N": a lowercase RFC 1123 label…',
    ]),
    one({ iscsi: { targetPortal: 'p', iqn: 'x', lun: 0, chapAuthDiscovery: true, initiatorName: 'y' } }, [
      'spec.iscsi.iqn: Invalid value: "x": must be valid format',
      'spec.iscsi.secretRef: Required value',
      'spec.iscsi.initiatorname: Invalid value: "y": must be valid format starting with iqn, eui, or naa',
    ]),
    one({ iscsi: { targetPortal: 'p', iqn: 'eui.0123456789abcdef', lun: 0, secretRef: {} } }, [
      'spec.iscsi.secretRef.name: Required value',
    ]),
    one({ glusterfs: { endpoints: '', path: '', endpointsNamespace: '' } }, [
      'spec.glusterfs.endpoints: Required value',
      'spec.glusterfs.path: Required value',
      'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
    ]),
    one({ azureFile: { secretName: '', shareName: '', secretNamespace: '' } }, [
      'spec.azureFile.secretName: Required value',
      'spec.azureFile.shareName: Required value',
      'spec.azureFile.secretNamespace: Required value',
    ]),
    one({ cinder: { volumeID: '', secretRef: {} } }, [
      'spec.cinder.volumeID: Required value',
      'spec.cinder.secretRef.name: Required value',
      'spec.cinder.secretRef.namespace: Required value',
    ]),
    one({ storageos: { volumeName: 'A', volumeNamespace: 'B' } }, [
      'spec.storageos.volumeName: Invalid value: "A": a lowercase RFC 1123 label…',
      'spec.storageos.volumeNamespace: Invalid value: "B": a lowercase RFC 1123 label…',
    ]),
    one({ quobyte: { registry: 'r', volume: '' } }, [
      'spec.quobyte.registry: Invalid value: "r": must be a host:port pair or multiple pairs separated by commas',
      'spec.quobyte.volume: Required value',
    ]),
    one({ flocker: { datasetName: 'a/b', datasetUUID: 'u' } }, [
      'spec.flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      `spec.flocker.datasetName: Invalid value: "a/b": must not contain '/'`,
    ]),
    [
      { hostPath: { path: '/a' } },
      [
        'metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type',
      ],
      { annotations: { 'volume.beta.kubernetes.io/mount-options': 'ro' } },
    ],
    [{ nfs: NFS }, [], { annotations: { 'volume.beta.kubernetes.io/mount-options': 'ro' } }],
  ]);
});

test('volumes: immutable fields', () => {
  const affinity = (key: string): JsonObject => ({
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }] } },
  });
  const before = volume({ nfs: NFS, ...affinity('beta.kubernetes.io/os') });
  const change = (spec: JsonObject): readonly string[] => changeRefusals(before, volume({ nfs: NFS, ...spec }));
  assert.deepEqual(change(affinity('kubernetes.io/os')), []);
  compareTexts(
    change(affinity('other')),
    ['nodeAffinity: Invalid value: core.VolumeNodeAffinity{Required:(*core.NodeSelector)(0x…'],
    'affinity',
  );
  assert.deepEqual(change({ ...affinity('kubernetes.io/os'), volumeMode: 'Block' }), [
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
  compareTexts(
    change({ nfs: { server: 't', path: '/p' }, ...affinity('kubernetes.io/os') }),
    ['spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n…'],
    'source',
  );
  assert.deepEqual(change({ ...affinity('kubernetes.io/os'), accessModes: [] }), [
    'spec.accessModes: Required value',
    'spec.accessModes: Required value',
  ]);
});

test('claims: validation, allowed updates and defaulted fields', () => {
  const R = 'spec.resources[storage]';
  check(claim, [
    [{ accessModes: [] }, ['spec.accessModes: Required value: at least 1 access mode is required']],
    [{ resources: {} }, [`${R}: Required value`]],
    [{ resources: { requests: { storage: '0' } } }, [`${R}: Invalid value: "0": must be greater than zero`]],
    [{ storageClassName: 'A' }, ['spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain…']],
    [
      { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      { dataSource: { kind: 'PersistentVolumeClaim', name: '' } },
      ['spec.dataSource.name: Required value', 'spec.dataSourceRef.name: Required value'],
    ],
    [
      { dataSourceRef: { kind: 'X', name: 'a' } },
      [
        'spec.dataSource: Invalid value: "X": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
        'spec.dataSourceRef: Invalid value: "X": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
      ],
    ],
    [
      {
        dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
        dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
      },
      ['spec: Invalid value: field.Path{name:"dataSource", index:"", parent:(*field.Path)(0x…'],
    ],
  ]);
  const grown = claim({ resources: { requests: { storage: '2Gi' } } });
  const forbidden =
    'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n…';
  compareTexts(changeRefusals(claim({}), grown), [forbidden], 'an unbound claim');
  assert.deepEqual(changeRefusals(claim({}), claim({ volumeName: 'v', storageClassName: 's' })), []);
  compareTexts(changeRefusals(claim({ volumeName: 'v' }), claim({ volumeName: 'w' })), [forbidden], 'another volume');
  assert.deepEqual(changeRefusals(claim({}), claim({ volumeMode: 'Block' })).slice(1), [
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
});

test('claims: the class in an annotation may not change; an empty one is none', () => {
  const annotated = (name: string): JsonObject =>
    claim({}, { annotations: { 'volume.beta.kubernetes.io/storage-class': name } });
  assert.deepEqual(changeRefusals(claim({}), annotated('')), []);
  assert.deepEqual(changeRefusals(annotated('a'), annotated('b')), [
    'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "b": field is immutable',
  ]);
});

test('claims: the data source is stored in two fields', () => {
  const sources = (spec: JsonObject): readonly unknown[] => {
    const { dataSource, dataSourceRef } = (stored(claim(spec)) as unknown as { spec: JsonObject }).spec;
    return [dataSource, dataSourceRef];
  };
  const own = { kind: 'PersistentVolumeClaim', name: 'a' };
  const custom = { apiGroup: 'example.com', kind: 'Backup', name: 'b' };
  assert.deepEqual(sources({ dataSource: own }), [own, own]);
  assert.deepEqual(sources({ dataSource: custom }), [undefined, undefined]);
  assert.deepEqual(sources({ dataSourceRef: custom }), [custom, custom]);
  assert.deepEqual(sources({ dataSourceRef: { ...own, namespace: 'other' } }), [undefined, undefined]);
});

test('the status of a claim', () => {
  const status = (value: JsonObject): readonly string[] =>
    changeRefusals(claim({}), { ...claim({}), status: value }, 'status');
  compareTexts(
    status({ allocatedResourceStatuses: { cpu: 'X' }, allocatedResources: { 'a b': '1', storage: '-1' } }),
    [
      'status.allocatedResourceStatus: Unsupported value: "cpu": supported values: "storage"',
      'status.allocatedResourceStatus: Unsupported value: "cpu": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
      'status.allocatedResources: Invalid value: "a b": name part must consist…',
      'status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity',
    ],
    'resizing',
  );
  assert.deepEqual(status({ capacity: { storage: '1Gi' }, phase: 'Bound' }), []);
});

test('the status of a claim contains no volume attributes class while the feature is off', () => {
  const status = { phase: 'Bound', currentVolumeAttributesClassName: 'a', modifyVolumeStatus: { status: 'Pending' } };
  const changed = replaced(claim({}), { ...claim({}), status }, 'status') as unknown as { status: JsonObject };
  assert.deepEqual(changed.status, { phase: 'Bound' });
});

test('tables of volumes and claims', () => {
  const bound = {
    ...claim({ volumeName: 'v' }),
    status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] },
  };
  const { Age: _, ...cells } = row(bound);
  assert.deepEqual(cells, {
    Name: 'c',
    Status: 'Bound',
    Volume: 'v',
    Capacity: '1Gi',
    'Access Modes': 'RWO,ROX',
    StorageClass: '',
    VolumeAttributesClass: '<unset>',
    VolumeMode: 'Filesystem',
  });
  assert.equal(row({ ...bound, status: { phase: 'Lost', capacity: { storage: '1Gi' } } })['Capacity'], '1Gi');
  const going = row(
    volume({ nfs: NFS, claimRef: { namespace: 'n', name: 'c' } }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  );
  assert.deepEqual([going['Status'], going['Claim'], going['Reclaim Policy']], ['Terminating', 'n/c', 'Retain']);
});

test('an update keeps the fields that only the server sets', () => {
  const changed = replaced(claim({}), { ...claim({}), status: { phase: 'Bound' } }) as unknown as {
    status: JsonObject;
  };
  assert.deepEqual(changed.status, { phase: 'Pending' });
});
