import { ageColumn, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import { accessModesText } from '../../columns/volumes.ts';
import { setPersistentVolumeClaimSpecDefaults } from '../../defaults/claims.ts';
import { setResourceListDefaults } from '../../defaults/resources.ts';
import { setConditionTimes, setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../generated/types.ts';
import { PERSISTENT_VOLUME_CLAIMS } from '../../refs.ts';
import { isTerminating } from '../../semantics/pods.ts';
import { storageClassOf } from '../../semantics/storage.ts';
import { claimWarnings } from '../../validation/claim-warnings.ts';
import { defineResource } from '../define.ts';
import { keepSpec, keepStatus } from '../strategy.ts';
import { claimChecks, validateClaimStatusUpdate } from './validation.ts';

const UNSET = '<unset>';
const isBound = (claim: Readonly<PersistentVolumeClaim>): boolean => Boolean(claim.spec.volumeName);

export const persistentVolumeClaimResource = defineResource(PERSISTENT_VOLUME_CLAIMS, {
  setDefaults: (claim) => {
    setDefault(claim, 'spec', { resources: {} });
    setDefault(claim, 'status', {});
    setConditionTimes(claim.status.conditions, 'lastProbeTime', 'lastTransitionTime');
    setPersistentVolumeClaimSpecDefaults(claim.spec);
    setDefaultOfZero(claim.status, 'phase', 'Pending');
    setResourceListDefaults(claim.status.capacity);
  },
  strategy: {
    prepareForCreate: (claim) => {
      claim.status = { phase: 'Pending' };
      delete claim.spec.volumeAttributesClassName;
      dropDataSources(claim.spec, {});
      alignDataSources(claim.spec);
    },
    prepareForUpdate: (claim, old) => {
      keepStatus(claim, old);
      if (old.spec.volumeAttributesClassName === undefined) delete claim.spec.volumeAttributesClassName;
      dropDataSources(claim.spec, old.spec);
      alignDataSources(claim.spec);
    },
    ...claimChecks,
    warnings: claimWarnings,
    allowUnconditionalUpdate: true,
  },
  status: {
    prepareForUpdate: (claim, old) => {
      keepSpec(claim, old);
      // VolumeAttributesClasses are off in 1.32.
      if (old.status.currentVolumeAttributesClassName === undefined)
        delete claim.status.currentVolumeAttributesClassName;
      if (old.status.modifyVolumeStatus === undefined) delete claim.status.modifyVolumeStatus;
    },
    validateUpdate: validateClaimStatusUpdate,
  },
  columns: [
    nameColumn,
    textColumn('Status', 'The phase of the claim', (claim) =>
      !isTerminating(claim) ? (claim.status.phase ?? '') : 'Terminating',
    ),
    textColumn('Volume', 'The volume that is bound to the claim', (claim) => claim.spec.volumeName ?? ''),
    textColumn('Capacity', 'The size of the volume', (claim) =>
      isBound(claim) ? (claim.status.capacity?.['storage'] ?? '0') : '',
    ),
    textColumn('Access Modes', 'How the volume can be mounted', (claim) =>
      isBound(claim) ? accessModesText(claim.status.accessModes) : '',
    ),
    textColumn('StorageClass', 'The class of the volume', storageClassOf),
    textColumn(
      'VolumeAttributesClass',
      'The attributes of the volume',
      (claim) => claim.spec.volumeAttributesClassName ?? UNSET,
    ),
    ageColumn,
    wide(textColumn('VolumeMode', 'Filesystem or block device', (claim) => claim.spec.volumeMode ?? UNSET)),
  ],
  selectableFields: {},
});

type Sources = Pick<PersistentVolumeClaimSpec, 'dataSource' | 'dataSourceRef'>;

/**
 * Cross-namespace references are off in 1.32. `dataSource`, the older field, always ignored values that it does not
 * support.
 */
function dropDataSources(spec: Sources, old: Readonly<Sources>): void {
  if (spec.dataSourceRef?.namespace && old.dataSourceRef === undefined) delete spec.dataSourceRef;
  if (old.dataSource !== undefined || old.dataSourceRef !== undefined || spec.dataSourceRef !== undefined) return;
  const { apiGroup = '', kind = '' } = spec.dataSource ?? {};
  const isKnown =
    (apiGroup === '' && kind === 'PersistentVolumeClaim') ||
    (apiGroup === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot');
  if (!isKnown) delete spec.dataSource;
}

/** Both fields have one meaning while the source is in the claim's own namespace. */
function alignDataSources(spec: PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined && dataSourceRef === undefined) spec.dataSourceRef = { ...dataSource };
  if (dataSourceRef === undefined || dataSource !== undefined || dataSourceRef.namespace) return;
  const { apiGroup, kind, name } = dataSourceRef;
  spec.dataSource = apiGroup === undefined ? { kind, name } : { apiGroup, kind, name };
}
