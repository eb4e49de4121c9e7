import { formatTime } from '@holdfast/platform';
import { ageColumn, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import { accessModesText } from '../../columns/volumes.ts';
import { setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import type { PersistentVolume } from '../../generated/types.ts';
import { PERSISTENT_VOLUMES } from '../../refs.ts';
import { isTerminating } from '../../semantics/pods.ts';
import { storageClassOf } from '../../semantics/storage.ts';
import { defineResource } from '../define.ts';
import { keepSpec, keepStatus } from '../strategy.ts';
import { setSourceDefaults } from './defaults.ts';
import { keepFencingToken } from './fencing-token.ts';
import { validateVolumeStatusUpdate, volumeChecks } from './validation.ts';
import { volumeWarnings } from './warnings.ts';

const UNSET = '<unset>';

export const persistentVolumeResource = defineResource(PERSISTENT_VOLUMES, {
  setDefaults: setPersistentVolumeDefaults,
  strategy: {
    prepareForCreate: (volume, { now }) => {
      volume.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) };
      delete volume.spec.volumeAttributesClassName;
    },
    prepareForUpdate: (volume, old) => {
      keepStatus(volume, old);
      if (old.spec.volumeAttributesClassName === undefined) delete volume.spec.volumeAttributesClassName;
    },
    ...volumeChecks,
    warnings: volumeWarnings,
    allowUnconditionalUpdate: true,
  },
  status: {
    prepareForUpdate: (volume, old, { now }) => {
      keepSpec(volume, old);
      keepTransitionTime(volume, old, now);
      keepFencingToken(volume, old);
    },
    validateUpdate: validateVolumeStatusUpdate,
  },
  columns: [
    nameColumn,
    textColumn('Capacity', 'The size of the volume', (volume) => volume.spec.capacity?.['storage'] ?? '0'),
    textColumn('Access Modes', 'How the volume can be mounted', (volume) => accessModesText(volume.spec.accessModes)),
    textColumn('Reclaim Policy', 'What becomes of the volume when its claim is gone', (volume) => {
      return volume.spec.persistentVolumeReclaimPolicy ?? '';
    }),
    textColumn('Status', 'The phase of the volume', (volume) =>
      !isTerminating(volume) ? (volume.status.phase ?? '') : 'Terminating',
    ),
    textColumn('Claim', 'The claim that the volume is bound to', claimText),
    textColumn('StorageClass', 'The class of the volume', storageClassOf),
    textColumn('VolumeAttributesClass', 'The attributes of the volume', (volume) => {
      return volume.spec.volumeAttributesClassName || UNSET;
    }),
    textColumn('Reason', 'Why the volume is in this phase', (volume) => volume.status.reason ?? ''),
    ageColumn,
    wide(textColumn('VolumeMode', 'Filesystem or block device', (volume) => volume.spec.volumeMode ?? UNSET)),
  ],
});

function claimText({ spec }: Readonly<PersistentVolume>): string {
  const claim = spec.claimRef;
  return claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`;
}

function setPersistentVolumeDefaults(volume: PersistentVolume): void {
  setDefault(volume, 'spec', {});
  setDefault(volume, 'status', {});
  const { spec } = volume;
  setDefaultOfZero(volume.status, 'phase', 'Pending');
  setDefaultOfZero(spec, 'persistentVolumeReclaimPolicy', 'Retain');
  setDefault(spec, 'volumeMode', 'Filesystem');
  setSourceDefaults(spec);
}

function keepTransitionTime(volume: PersistentVolume, old: Readonly<PersistentVolume>, now: number): void {
  if (volume.status.phase !== old.status.phase) {
    if (volume.status.lastPhaseTransitionTime === old.status.lastPhaseTransitionTime) {
      volume.status.lastPhaseTransitionTime = formatTime(now);
    }
  } else if (old.status.lastPhaseTransitionTime !== undefined) {
    volume.status.lastPhaseTransitionTime ??= old.status.lastPhaseTransitionTime;
  }
}
