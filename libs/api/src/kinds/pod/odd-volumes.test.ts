import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { type Case, check, container, withContainer, withVolume } from './odd-testing.ts';

const C = 'spec.containers[0]';
const V = 'spec.volumes[0]';

test('[RWO-03] a pod may use a claim, and must name it', () => {
  check([
    [withVolume({ persistentVolumeClaim: { claimName: 'data' } }), []],
    [withVolume({ persistentVolumeClaim: {} }), [`${V}.persistentVolumeClaim.claimName: Required value`]],
  ]);
});

test('volumes: exactly one complete source each', () => {
  const one = (source: JsonObject, errors: readonly string[]): Case => [withVolume(source), errors];
  check([
    [{ volumes: [{ emptyDir: {} }] }, [`${V}.name: Required value`]],
    [{ volumes: [{ name: 'v' }, { name: 'v' }] }, ['spec.volumes[1].name: Duplicate value: "v"']],
    one({ emptyDir: {}, hostPath: { path: '/' } }, [
      `${V}.hostPath: Forbidden: may not specify more than 1 volume type`,
    ]),
    one({ emptyDir: { sizeLimit: '-1' } }, [
      `${V}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`,
    ]),
    one({ hostPath: { path: '/a/../b', type: 'X' } }, [
      `${V}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
      `${V}.hostPath.type: Unsupported value: "X": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
    ]),
    one({ gitRepo: { repository: '', directory: '/a/..' } }, [
      `${V}.gitRepo.repository: Required value`,
      `${V}.gitRepo.directory: Invalid value: "/a/..": must be a relative path`,
      `${V}.gitRepo.directory: Invalid value: "/a/..": must not contain '..'`,
    ]),
    one({ gcePersistentDisk: { pdName: '', partition: 256 } }, [
      `${V}.persistentDisk.pdName: Required value`,
      `${V}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`,
    ]),
    one({ secret: { defaultMode: 512, items: [{ key: '', path: '..a', mode: -1 }] } }, [
      `${V}.secret.secretName: Required value`,
      `${V}.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive`,
      `${V}.secret.items[0].key: Required value`,
      `${V}.secret.items[0].path: Invalid value: "..a": must not start with '..'`,
      `${V}.secret.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive`,
    ]),
    one({ nfs: { server: '', path: 'a' } }, [
      `${V}.nfs.server: Required value`,
      `${V}.nfs.path: Invalid value: "a": must be an absolute path`,
    ]),
    one(
      { iscsi: { targetPortal: '', iqn: 'iqn.2015-02.a_b:x', lun: 256, chapAuthSession: true, initiatorName: 'x' } },
      [
        `${V}.iscsi.targetPortal: Required value`,
        `${V}.iscsi.iqn: Invalid value: "iqn.2015-02.a_b:x": must be valid format`,
        `${V}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
        `${V}.iscsi.secretRef: Required value`,
        `${V}.iscsi.initiatorname: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
      ],
    ),
    one({ cephfs: { monitors: [] }, rbd: { monitors: ['a'], image: 'b' } }, [
      `${V}.cephFS: Forbidden: may not specify more than 1 volume type`,
    ]),
    one({ downwardAPI: { items: [{ path: '' }] } }, [
      `${V}.downwardAPI.path: Required value`,
      `${V}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
    ]),
    one({ fc: { targetWWNs: ['a'], wwids: ['b'] } }, [
      `${V}.fc.targetWWNs: Invalid value: []string{"a"}: targetWWNs and wwids can not be specified simultaneously`,
      `${V}.fc.lun: Required value: lun is required if targetWWNs is specified`,
    ]),
    one({ flexVolume: { driver: '', options: { 'k8s.io/a': '' } } }, [
      `${V}.flexVolume.driver: Required value`,
      `${V}.flexVolume.options[k8s.io/a]: Invalid value: "k8s.io/a": kubernetes.io and k8s.io namespaces are reserved`,
    ]),
    one({ azureDisk: { diskName: 'a', diskURI: 'b', kind: 'Managed', cachingMode: 'X' } }, [
      `${V}.azureDisk.cachingMode: Unsupported value: "X": supported values: "None", "ReadOnly", "ReadWrite"`,
      `${V}.azureDisk.diskURI: Unsupported value: "b": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"`,
    ]),
    one({ projected: { sources: [{ serviceAccountToken: { path: '', expirationSeconds: 1 } }] } }, [
      `${V}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes`,
      `${V}.projected.path: Required value`,
      `${V}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
    ]),
    one(
      {
        projected: {
          sources: [
            {
              secret: {
                name: 'a',
                items: [
                  { key: 'k', path: 'p' },
                  { key: 'l', path: 'p' },
                  { key: '', path: 'q' },
                ],
              },
            },
          ],
        },
      },
      [
        `${V}.projected: Invalid value: "a": conflicting duplicate paths`,
        `${V}.projected.sources[0].secret.items[2].key: Required value`,
      ],
    ),
    one(
      {
        projected: {
          sources: [
            {
              secret: { name: 'a', items: [{ key: 'k', path: 'p' }] },
              configMap: { name: 'b', items: [{ key: 'k', path: 'p' }] },
            },
          ],
        },
      },
      [
        `${V}.projected: Invalid value: "b": conflicting duplicate paths`,
        `${V}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
      ],
    ),
    one({ csi: { driver: 'A_b', nodePublishSecretRef: { name: 'N' } } }, [
      `${V}.csi.driver: Invalid value: "A_b": a lowercase RFC 1123 subdomain…`,
      `${V}.csi.name: Invalid value: "N": a lowercase RFC 1123 subdomain…`,
    ]),
    one({ ephemeral: {} }, [`${V}.ephemeral.volumeClaimTemplate: Required value`]),
    one({ ephemeral: { volumeClaimTemplate: { metadata: { name: 'x', uid: 'u', labels: { a: 'b c' } }, spec: {} } } }, [
      `${V}.ephemeral.volumeClaimTemplate.metadata.labels: Invalid value: "b c": a valid label…`,
      `${V}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set`,
      `${V}.ephemeral.volumeClaimTemplate.metadata.uID: Forbidden: cannot be set`,
      `${V}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required`,
      `${V}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`,
    ]),
    [
      {
        volumes: [
          { name: 'a', persistentVolumeClaim: { claimName: 'p-b' } },
          {
            name: 'b',
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
              },
            },
          },
        ],
      },
      [
        `${V}.persistentVolumeClaim.claimName: Invalid value: "p-b": must not reference a PVC that gets created for an ephemeral volume`,
      ],
    ],
  ]);
});

test('mounts and devices', () => {
  const mounts = (...volumeMounts: JsonObject[]): JsonObject => ({
    ...withVolume({ emptyDir: {} }),
    containers: [container({ volumeMounts })],
  });
  const M = `${C}.volumeMounts`;
  check([
    [mounts({}), [`${M}[0].name: Required value`, `${M}[0].name: Not found: ""`, `${M}[0].mountPath: Required value`]],
    [
      mounts({ name: 'v', mountPath: '/a' }, { name: 'v', mountPath: '/a' }),
      [`${M}[1].mountPath: Invalid value: "/a": must be unique`],
    ],
    [
      mounts({ name: 'v', mountPath: '/a', subPath: '/x', subPathExpr: '../y' }),
      [
        `${M}.subPath: Invalid value: "/x": must be a relative path`,
        `${M}[0].subPathExpr: Invalid value: "../y": subPathExpr and subPath are mutually exclusive`,
        `${M}.subPathExpr: Invalid value: "../y": must not contain '..'`,
      ],
    ],
    [
      mounts({ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional', recursiveReadOnly: 'Enabled' }),
      [
        `${M}.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
        `${M}.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
        `${M}.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified`,
      ],
    ],
    [
      {
        ...withVolume({ emptyDir: {} }),
        ...withContainer({ volumeMounts: [{ mountPath: '/a' }], volumeDevices: [{ devicePath: '/a' }] }),
      },
      [
        `${M}[0].name: Required value`,
        `${M}[0].name: Not found: ""`,
        `${M}[0].name: Invalid value: "": must not already exist in volumeDevices`,
        `${M}[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices`,
        `${C}.volumeDevices[0].name: Required value`,
        `${C}.volumeDevices[0].name: Not found: ""`,
        `${C}.volumeDevices[0].name: Invalid value: "": must not already exist in volumeMounts`,
        `${C}.volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts`,
      ],
    ],
    [
      {
        ...withVolume({ emptyDir: {} }),
        ...withContainer({
          volumeDevices: [
            { name: 'v', devicePath: '/a/..' },
            { name: 'w', devicePath: '' },
          ],
        }),
      },
      [
        `${C}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
        `${C}.volumeDevices[0].devicePath: Invalid value: "/a/..": can not contain backsteps ('..')`,
        `${C}.volumeDevices[1].name: Not found: "w"`,
        `${C}.volumeDevices[1].devicePath: Required value`,
      ],
    ],
  ]);
});
