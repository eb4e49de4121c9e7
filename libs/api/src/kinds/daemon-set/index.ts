import { semanticEqual } from '@holdfast/machinery';
import {
  ageColumn,
  integerColumn,
  labelMapText,
  nameColumn,
  selectorColumn,
  templateColumns,
  textColumn,
} from '../../columns/columns.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault, setDefaultOfZero, setEmptySpec } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { DaemonSet } from '../../generated/types.ts';
import { DAEMON_SETS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';
import { daemonSetChecks, validateDaemonSetStatusUpdate } from './validation.ts';

/** The number of template changes; older clients read it here. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

export const daemonSetResource = defineResource(DAEMON_SETS, {
  setDefaults: setDaemonSetDefaults,
  strategy: {
    prepareForCreate: (set, { features = DEFAULT_FEATURES }) => {
      set.status = noStatus();
      // A set that is created with a generation keeps it.
      setTemplateGeneration(set, Math.max(templateGeneration(set), 1));
      dropDisabledPodFields(set.spec.template.spec, undefined, features);
    },
    prepareForUpdate: (set, old, { features = DEFAULT_FEATURES }) => {
      keepStatus(set, old);
      dropDisabledPodFields(set.spec.template.spec, old.spec.template.spec, features);
      const before = templateGeneration(old);
      setTemplateGeneration(set, semanticEqual(set.spec.template, old.spec.template) ? before : before + 1);
    },
    ...daemonSetChecks,
    generationChanges: specChanged,
    warnings: templateWarnings<DaemonSet>({ template: ({ spec }) => spec.template }),
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateDaemonSetStatusUpdate),
  columns: [
    nameColumn,
    integerColumn('Desired', 'Nodes that should run the pod', (set) => set.status.desiredNumberScheduled),
    integerColumn('Current', 'Nodes that run the pod and should', (set) => set.status.currentNumberScheduled),
    integerColumn('Ready', 'Nodes on which the pod is ready', (set) => set.status.numberReady),
    integerColumn('Up-to-date', 'Nodes that run the current template', (set) => set.status.updatedNumberScheduled ?? 0),
    integerColumn(
      'Available',
      'Nodes on which the pod has been ready for long enough',
      (set) => set.status.numberAvailable ?? 0,
    ),
    textColumn('Node Selector', 'The nodes that the pods may run on', (set) =>
      labelMapText(set.spec.template.spec.nodeSelector),
    ),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
});

const noStatus = (): DaemonSet['status'] => ({
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
});

function templateGeneration(set: Readonly<DaemonSet>): number {
  const text = set.metadata.annotations?.[TEMPLATE_GENERATION] ?? '';
  return /^[+-]?\d+$/.test(text) ? Number(text) : 0;
}

function setTemplateGeneration(set: DaemonSet, generation: number): void {
  (set.metadata.annotations ??= {})[TEMPLATE_GENERATION] = String(generation);
}

function setDaemonSetDefaults(set: DaemonSet): void {
  setEmptySpec(set);
  set.status = { ...noStatus(), ...set.status };
  setConditionTimes(set.status.conditions, 'lastTransitionTime');
  // Every DaemonSet has this annotation, so its creator owns it from the start.
  (set.metadata.annotations ??= {})[TEMPLATE_GENERATION] ??= '0';
  const { spec } = set;
  setDefault(spec, 'template', { metadata: {}, spec: { containers: [] } });
  setPodTemplateDefaults(spec.template);
  setDefault(spec, 'updateStrategy', {});
  setDefaultOfZero(spec.updateStrategy, 'type', 'RollingUpdate');
  if (spec.updateStrategy.type === 'RollingUpdate') {
    const rolling = (spec.updateStrategy.rollingUpdate ??= {});
    setDefault(rolling, 'maxUnavailable', 1);
    setDefault(rolling, 'maxSurge', 0);
  }
  setDefault(spec, 'revisionHistoryLimit', 10);
}
