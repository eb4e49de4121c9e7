import { setDefault } from '../../defaults/set.ts';
import type { AutoscalingV1HorizontalPodAutoscaler, HorizontalPodAutoscaler } from '../../generated/types.ts';
import { HORIZONTAL_POD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS_V1 } from '../../refs.ts';
import type { KubeObject } from '../../resource.ts';
import { defineResource } from '../define.ts';
import { horizontalPodAutoscalerResource, hpaColumns } from '../horizontal-pod-autoscaler/index.ts';
import { keepStatus, statusOnly } from '../strategy.ts';
import { fromV2, toV2 } from './convert.ts';

const { strategy } = horizontalPodAutoscalerResource;

/** The store contains only v2 autoscalers under this address. */
const asV2 = (stored: Readonly<KubeObject>): Readonly<HorizontalPodAutoscaler> =>
  stored as Readonly<HorizontalPodAutoscaler>;

const validateUpdate = (
  scaler: Readonly<AutoscalingV1HorizontalPodAutoscaler>,
  old: Readonly<AutoscalingV1HorizontalPodAutoscaler>,
  context: { readonly now: number },
) => strategy.validateUpdate(toV2(scaler), toV2(old), context);

/** autoscaling/v1: autoscalers that support only CPU utilization. */
export const horizontalPodAutoscalerV1Resource = defineResource(HORIZONTAL_POD_AUTOSCALERS_V1, {
  setDefaults: (scaler) => {
    setDefault(scaler, 'spec', { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } });
    setDefault(scaler, 'status', { currentReplicas: 0, desiredReplicas: 0 });
    setDefault(scaler.status, 'currentReplicas', 0);
    setDefault(scaler.status, 'desiredReplicas', 0);
    setDefault(scaler.spec, 'scaleTargetRef', { kind: '', name: '' });
    setDefault(scaler.spec, 'minReplicas', 1);
  },
  strategy: {
    prepareForCreate: (scaler) => {
      scaler.status = { currentReplicas: 0, desiredReplicas: 0 };
    },
    prepareForUpdate: keepStatus,
    validateCreate: (scaler, context) => strategy.validateCreate(toV2(scaler), context),
    validateUpdate,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateUpdate),
  storedAs: {
    group: HORIZONTAL_POD_AUTOSCALERS.group,
    version: HORIZONTAL_POD_AUTOSCALERS.version,
    kind: HORIZONTAL_POD_AUTOSCALERS.kind,
    plural: HORIZONTAL_POD_AUTOSCALERS.plural,
    toStored: toV2,
    fromStored: (stored) => fromV2(asV2(stored)),
  },
  columns: hpaColumns.map((column) => ({ ...column, cell: (scaler, context) => column.cell(toV2(scaler), context) })),
});
