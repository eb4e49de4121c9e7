import { ageColumn, integerColumn, nameColumn, selectorColumn, templateColumns } from '../../columns/columns.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault, setEmptySpec } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { ReplicaSet } from '../../generated/types.ts';
import { REPLICA_SETS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';
import { scaleOf } from '../workload.ts';
import { replicaSetChecks, validateReplicaSetStatusUpdate } from './validation.ts';

export const replicaSetResource = defineResource(REPLICA_SETS, {
  setDefaults: setReplicaSetDefaults,
  strategy: {
    prepareForCreate: (set, { features = DEFAULT_FEATURES }) => {
      set.status = { replicas: 0 };
      dropDisabledPodFields(set.spec.template.spec, undefined, features);
    },
    prepareForUpdate: (set, old, { features = DEFAULT_FEATURES }) => {
      keepStatus(set, old);
      dropDisabledPodFields(set.spec.template.spec, old.spec.template.spec, features);
    },
    ...replicaSetChecks,
    generationChanges: specChanged,
    warnings: templateWarnings<ReplicaSet>({ template: ({ spec }) => spec.template, namesPods: true }),
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateReplicaSetStatusUpdate),
  scale: scaleOf(),
  columns: [
    nameColumn,
    integerColumn('Desired', 'How many pods are wanted', (set) => set.spec.replicas ?? 0),
    integerColumn('Current', 'How many pods there are', (set) => set.status.replicas),
    integerColumn('Ready', 'How many pods are ready', (set) => set.status.readyReplicas ?? 0),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  selectableFields: { 'status.replicas': (set) => String(set.status.replicas) },
});

function setReplicaSetDefaults(set: ReplicaSet): void {
  setEmptySpec(set);
  setDefault(set, 'status', { replicas: 0 });
  setDefault(set.status, 'replicas', 0);
  setConditionTimes(set.status.conditions, 'lastTransitionTime');
  setDefault(set.spec, 'template', { metadata: {}, spec: { containers: [] } });
  setPodTemplateDefaults(set.spec.template);
  setDefault(set.spec, 'replicas', 1);
}
