import { type FieldError, forbidden, invalid, notSupported, ownValue, required } from '@holdfast/machinery';
import { ageColumn, integerColumn, labelMapText, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { ReplicationController } from '../../generated/types.ts';
import { REPLICATION_CONTROLLERS } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goStringMap } from '../../validation/go-text.ts';
import { validateNonNegative } from '../../validation/numbers.ts';
import { validatePodTemplate } from '../../validation/pod/pod-template.ts';
import { checkedInSteps, checkedUpdate } from '../checked.ts';
import { defineResource } from '../define.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { validateReplicaStatus } from '../replica-set/validation.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { templateWarnings } from '../template-warnings.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const replicationControllerResource = defineResource(REPLICATION_CONTROLLERS, {
  setDefaults: setReplicationControllerDefaults,
  strategy: {
    prepareForCreate: (controller, { features = DEFAULT_FEATURES }) => {
      controller.status = { replicas: 0 };
      if (controller.spec.template !== undefined) {
        dropDisabledPodFields(controller.spec.template.spec, undefined, features);
      }
    },
    prepareForUpdate: (controller, old, { features = DEFAULT_FEATURES }) => {
      keepStatus(controller, old);
      if (controller.spec.template !== undefined) {
        dropDisabledPodFields(controller.spec.template.spec, old.spec.template?.spec, features);
      }
    },
    ...checkedInSteps<ReplicationController>(META, {
      whole: validateSpec,
      change: validateSpec,
      onUpdate: ['whole', 'metadata', 'change'],
    }),
    generationChanges: specChanged,
    warnings: templateWarnings<ReplicationController>({ template: ({ spec }) => spec.template, namesPods: true }),
    allowUnconditionalUpdate: true,
    orphansByDefault: {},
  },
  status: statusOnly(checkedUpdate((out, { status }) => validateReplicaStatus(out, status))),
  scale: {
    replicas: (controller) => controller.spec.replicas ?? 0,
    statusReplicas: (controller) => controller.status.replicas,
    selector: (controller) => selectorText(controller),
    setReplicas: (controller, replicas) => {
      controller.spec.replicas = replicas;
    },
  },
  columns: [
    nameColumn,
    integerColumn('Desired', 'How many pods are wanted', (c) => c.spec.replicas ?? 0),
    integerColumn('Current', 'How many pods there are', (c) => c.status.replicas),
    integerColumn('Ready', 'How many pods are ready', (c) => c.status.readyReplicas ?? 0),
    ageColumn,
    wide(textColumn('Containers', 'The names of the containers in the pod template', (c) => templateText(c, 'name'))),
    wide(textColumn('Images', 'The images of the containers in the pod template', (c) => templateText(c, 'image'))),
    wide(textColumn('Selector', 'The pods that belong to the object', (c) => labelMapText(c.spec.selector))),
  ],
  selectableFields: { 'status.replicas': (c) => String(c.status.replicas) },
});

const selectorText = ({ spec }: Readonly<ReplicationController>): string =>
  Object.keys(spec.selector ?? {}).length === 0 ? '' : labelMapText(spec.selector);

const templateText = ({ spec }: Readonly<ReplicationController>, key: 'name' | 'image'): string =>
  (spec.template?.spec.containers ?? []).map((container) => container[key] ?? '').join(',');

function setReplicationControllerDefaults(controller: ReplicationController): void {
  setDefault(controller, 'spec', {});
  setDefault(controller, 'status', { replicas: 0 });
  setDefault(controller.status, 'replicas', 0);
  setConditionTimes(controller.status.conditions, 'lastTransitionTime');
  const { spec, metadata } = controller;
  if (spec.template !== undefined) {
    setPodTemplateDefaults(spec.template);
    const labels = spec.template.metadata.labels;
    if (labels !== undefined) {
      if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
      if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
    }
  }
  setDefault(spec, 'replicas', 1);
}

function validateSpec(out: FieldError[], { spec }: Readonly<ReplicationController>): void {
  const { template, selector = {} } = spec;
  validateNonNegative(out, 'spec.minReadySeconds', spec.minReadySeconds);
  if (Object.keys(selector).length === 0) out.push(required('spec.selector'));
  validateNonNegative(out, 'spec.replicas', spec.replicas);
  if (template === undefined) {
    out.push(required('spec.template'));
    return;
  }
  const labels = template.metadata.labels;
  if (Object.entries(selector).some(([key, value]) => ownValue(labels, key) !== value)) {
    const detail = '`selector` does not match template `labels`';
    out.push(invalid('spec.template.metadata.labels', goStringMap(labels), detail));
  }
  validatePodTemplate(out, 'spec.template', template);
  const restartPolicy = template.spec.restartPolicy ?? '';
  if (restartPolicy !== 'Always') {
    out.push(notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  }
  if (template.spec.activeDeadlineSeconds !== undefined) {
    const text = 'activeDeadlineSeconds in ReplicationController is not Supported';
    out.push(forbidden('spec.template.spec.activeDeadlineSeconds', text));
  }
}
