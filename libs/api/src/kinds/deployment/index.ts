import { fieldSetOf, semanticEqual } from '@holdfast/machinery';
import { ageColumn, nameColumn, selectorColumn, templateColumns, textColumn } from '../../columns/columns.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault, setDefaultOfZero, setEmptySpec } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { Deployment } from '../../generated/types.ts';
import { DEPLOYMENTS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { keepStatus, specChanged } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';
import { scaleOf } from '../workload.ts';
import { validateDeploymentCreate, validateDeploymentStatusUpdate, validateDeploymentUpdate } from './validation.ts';

export const deploymentResource = defineResource(DEPLOYMENTS, {
  setDefaults: setDeploymentDefaults,
  strategy: {
    prepareForCreate: (deployment, { features = DEFAULT_FEATURES }) => {
      deployment.status = {};
      dropDisabledPodFields(deployment.spec.template.spec, undefined, features);
    },
    prepareForUpdate: (deployment, old, { features = DEFAULT_FEATURES }) => {
      keepStatus(deployment, old);
      dropDisabledPodFields(deployment.spec.template.spec, old.spec.template.spec, features);
    },
    validateCreate: validateDeploymentCreate,
    validateUpdate: validateDeploymentUpdate,
    // Annotations are copied to ReplicaSets, so the controller must act on a change.
    generationChanges: (deployment, old) =>
      specChanged(deployment, old) || !semanticEqual(deployment.metadata.annotations, old.metadata.annotations),
    warnings: templateWarnings<Deployment>({ template: ({ spec }) => spec.template, namesPods: true }),
    allowUnconditionalUpdate: true,
  },
  status: {
    resets: fieldSetOf(['f:spec'], ['f:metadata', 'f:labels']),
    prepareForUpdate: (deployment, old) => {
      deployment.spec = old.spec;
      if (old.metadata.labels === undefined) delete deployment.metadata.labels;
      else deployment.metadata.labels = old.metadata.labels;
    },
    validateUpdate: validateDeploymentStatusUpdate,
  },
  scale: scaleOf(),
  columns: [
    nameColumn,
    textColumn('Ready', 'Ready pods of the pods that are wanted', (d) => {
      return `${d.status.readyReplicas ?? 0}/${d.spec.replicas ?? 0}`;
    }),
    // These are counts, but the reference responses declare both columns as text.
    textColumn('Up-to-date', 'Pods of the current template', (d) => d.status.updatedReplicas ?? 0),
    textColumn('Available', 'Pods that have been ready for long enough', (d) => d.status.availableReplicas ?? 0),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
});

function setDeploymentDefaults(deployment: Deployment): void {
  setEmptySpec(deployment);
  setDefault(deployment, 'status', {});
  setConditionTimes(deployment.status.conditions, 'lastUpdateTime', 'lastTransitionTime');
  const { spec } = deployment;
  setDefault(spec, 'template', { metadata: {}, spec: { containers: [] } });
  setPodTemplateDefaults(spec.template);
  setDefault(spec, 'replicas', 1);
  setDefault(spec, 'strategy', {});
  setDefaultOfZero(spec.strategy, 'type', 'RollingUpdate');
  if (spec.strategy.type === 'RollingUpdate') {
    const rolling = (spec.strategy.rollingUpdate ??= {});
    setDefault(rolling, 'maxUnavailable', '25%');
    setDefault(rolling, 'maxSurge', '25%');
  }
  setDefault(spec, 'revisionHistoryLimit', 10);
  setDefault(spec, 'progressDeadlineSeconds', 600);
}
