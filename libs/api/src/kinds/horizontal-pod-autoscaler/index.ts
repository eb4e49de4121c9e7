import { ageColumn, integerColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import type { HorizontalPodAutoscaler } from '../../generated/types.ts';
import { HORIZONTAL_POD_AUTOSCALERS } from '../../refs.ts';
import type { Column } from '../../resource.ts';
import { defineResource } from '../define.ts';
import { keepStatus, statusOnly } from '../strategy.ts';
import { noHpaStatus, setHpaDefaults } from './defaults.ts';
import { dropRoundTripAnnotations } from './round-trip.ts';
import { targetsText } from './targets.ts';
import { hpaChecks, validateHpaStatusUpdate } from './validation.ts';

export const hpaColumns: readonly Column<HorizontalPodAutoscaler>[] = [
  nameColumn,
  textColumn('Reference', 'What is scaled', ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`),
  textColumn('Targets', 'What is measured, and what it should be', targetsText),
  textColumn('MinPods', 'The fewest pods', ({ spec }) => String(spec.minReplicas ?? '<unset>')),
  integerColumn('MaxPods', 'The most pods', ({ spec }) => spec.maxReplicas),
  integerColumn('Replicas', 'How many pods there are', ({ status }) => status.currentReplicas ?? 0),
  ageColumn,
];

export const horizontalPodAutoscalerResource = defineResource(HORIZONTAL_POD_AUTOSCALERS, {
  setDefaults: (scaler) => {
    dropRoundTripAnnotations(scaler.metadata);
    setHpaDefaults(scaler);
  },
  strategy: {
    prepareForCreate: (scaler) => {
      scaler.status = noHpaStatus();
    },
    prepareForUpdate: keepStatus,
    ...hpaChecks,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateHpaStatusUpdate),
  columns: hpaColumns,
});
