import { ageColumn, nameColumn, templateColumns, textColumn } from '../../columns/columns.ts';
import { setPersistentVolumeClaimSpecDefaults } from '../../defaults/claims.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault, setDefaultOfZero, setEmptySpec, setZeroTime } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { PersistentVolumeClaim, StatefulSet } from '../../generated/types.ts';
import { STATEFUL_SETS } from '../../refs.ts';
import { claimSpecWarnings } from '../../validation/claim-warnings.ts';
import { defineResource } from '../define.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';
import { scaleOf } from '../workload.ts';
import { validateStatefulSetCreate, validateStatefulSetStatusUpdate, validateStatefulSetUpdate } from './validation.ts';

export const statefulSetResource = defineResource(STATEFUL_SETS, {
  setDefaults: setStatefulSetDefaults,
  strategy: {
    prepareForCreate: (set, { features = DEFAULT_FEATURES }) => {
      set.status = { replicas: 0, availableReplicas: 0 };
      // It has an effect only when a rollout may update several pods at once, which is off in 1.32.
      delete set.spec.updateStrategy.rollingUpdate?.maxUnavailable;
      dropDisabledPodFields(set.spec.template.spec, undefined, features);
    },
    prepareForUpdate: (set, old, { features = DEFAULT_FEATURES }) => {
      keepStatus(set, old);
      if (old.spec.updateStrategy.rollingUpdate?.maxUnavailable === undefined) {
        delete set.spec.updateStrategy.rollingUpdate?.maxUnavailable;
      }
      dropDisabledPodFields(set.spec.template.spec, old.spec.template.spec, features);
    },
    validateCreate: validateStatefulSetCreate,
    validateUpdate: validateStatefulSetUpdate,
    generationChanges: specChanged,
    warnings: templateWarnings<StatefulSet>({ template: ({ spec }) => spec.template, last: claimTemplateWarnings }),
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateStatefulSetStatusUpdate),
  scale: scaleOf(),
  columns: [
    nameColumn,
    textColumn('Ready', 'Ready pods of the pods that are wanted', (set) => {
      return `${set.status.readyReplicas ?? 0}/${set.spec.replicas ?? 0}`;
    }),
    ageColumn,
    ...templateColumns,
  ],
});

function setStatefulSetDefaults(set: StatefulSet): void {
  setEmptySpec(set);
  setDefault(set, 'status', { replicas: 0, availableReplicas: 0 });
  setDefault(set.status, 'replicas', 0);
  setDefault(set.status, 'availableReplicas', 0);
  setConditionTimes(set.status.conditions, 'lastTransitionTime');
  const { spec } = set;
  setDefault(spec, 'template', { metadata: {}, spec: { containers: [] } });
  setPodTemplateDefaults(spec.template);
  setDefault(spec, 'serviceName', '');
  setDefaultOfZero(spec, 'podManagementPolicy', 'OrderedReady');
  setUpdateStrategyDefaults(spec);
  const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
  setDefaultOfZero(retention, 'whenDeleted', 'Retain');
  setDefaultOfZero(retention, 'whenScaled', 'Retain');
  setDefault(spec, 'replicas', 1);
  setDefault(spec, 'revisionHistoryLimit', 10);
  for (const claim of spec.volumeClaimTemplates ?? []) setClaimTemplateDefaults(claim);
}

function setUpdateStrategyDefaults(spec: StatefulSet['spec']): void {
  setDefault(spec, 'updateStrategy', {});
  const strategy = spec.updateStrategy;
  // A strategy with only a type gets no further fields; its partition is zero.
  if (!strategy.type) {
    strategy.type = 'RollingUpdate';
    setDefault(strategy, 'rollingUpdate', {});
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate !== undefined) {
    setDefault(strategy.rollingUpdate, 'partition', 0);
  }
}

function setClaimTemplateDefaults(claim: PersistentVolumeClaim): void {
  claim.apiVersion = 'v1';
  claim.kind = 'PersistentVolumeClaim';
  setDefault(claim, 'metadata', {});
  setZeroTime(claim.metadata);
  setDefault(claim, 'spec', { resources: {} });
  setPersistentVolumeClaimSpecDefaults(claim.spec);
  setDefault(claim, 'status', {});
  setDefaultOfZero(claim.status, 'phase', 'Pending');
}

function claimTemplateWarnings({ spec }: Readonly<StatefulSet>): readonly string[] {
  const out: string[] = [];
  for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries()) {
    claimSpecWarnings(out, `spec.volumeClaimTemplates[${i}]`, claim.spec);
  }
  return out;
}
