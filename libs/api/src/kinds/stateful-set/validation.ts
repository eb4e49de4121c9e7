import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  semanticEqual,
  type Verbatim,
} from '@holdfast/machinery';
import type { StatefulSet, StatefulSetSpec } from '../../generated/types.ts';
import { dnsLabelErrors } from '../../validation/formats.ts';
import { goPointer, goString, goStruct } from '../../validation/go-text.ts';
import { isEmptySelector } from '../../validation/labels.ts';
import { validateNonNegative, validateNotDecremented } from '../../validation/numbers.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { validateTemplateMetadata } from '../../validation/pod/pod-template.ts';
import {
  goLabelSelector,
  hasProblems,
  validateSelectorPresent,
  validateTemplateLabels,
} from '../../validation/workload.ts';

/** The name becomes part of hostnames, so it may not contain dots. */
const META = { namespaced: true, name: dnsLabelErrors } as const;

export function validateStatefulSetCreate(set: Readonly<StatefulSet>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, set.metadata, META);
  validateSpec(out, set.spec);
  return out;
}

function validateSpec(out: FieldError[], spec: Readonly<StatefulSetSpec>): void {
  validatePodManagementPolicy(out, spec.podManagementPolicy ?? '');
  validateUpdateStrategy(out, spec.updateStrategy);
  validateRetentionPolicy(out, spec);
  validateNonNegative(out, 'spec.replicas', spec.replicas);
  validateNonNegative(out, 'spec.minReadySeconds', spec.minReadySeconds);
  validateNonNegative(out, 'spec.ordinals.start', spec.ordinals?.start);
  validateSelectorPresent(out, spec.selector, 'statefulset');
  if (hasProblems(spec.selector)) out.push(invalid('spec.selector', goLabelSelector(spec.selector), ''));
  else {
    const matchesAll = spec.selector !== undefined && isEmptySelector(spec.selector);
    if (!matchesAll) validateTemplateLabels(out, spec.selector, spec.template);
    // Claim volumes are not in the template, so the pods are validated on create.
    validateTemplateMetadata(out, 'spec.template', spec.template);
  }
  const restartPolicy = spec.template.spec.restartPolicy ?? '';
  if (restartPolicy !== 'Always') {
    out.push(notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  }
  if (spec.template.spec.activeDeadlineSeconds !== undefined) {
    out.push(
      forbidden('spec.template.spec.activeDeadlineSeconds', 'activeDeadlineSeconds in StatefulSet is not Supported'),
    );
  }
}

function validatePodManagementPolicy(out: FieldError[], policy: string): void {
  const path = 'spec.podManagementPolicy';
  if (policy === '') out.push(required(path));
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    out.push(invalid(path, policy, "must be 'OrderedReady' or 'Parallel'"));
  }
}

function validateUpdateStrategy(out: FieldError[], strategy: Readonly<StatefulSetSpec['updateStrategy']>): void {
  const path = 'spec.updateStrategy';
  switch (strategy.type ?? '') {
    case '':
      out.push(required(path));
      break;
    case 'OnDelete':
      if (strategy.rollingUpdate !== undefined) {
        const value = goStruct('apps.RollingUpdateStatefulSetStrategy', {
          Partition: String(strategy.rollingUpdate.partition ?? 0),
          MaxUnavailable: goPointer('intstr.IntOrString', strategy.rollingUpdate.maxUnavailable),
        });
        out.push(invalid(`${path}.rollingUpdate`, value, "only allowed for updateStrategy 'RollingUpdate'"));
      }
      break;
    case 'RollingUpdate':
      validateNonNegative(out, `${path}.rollingUpdate.partition`, strategy.rollingUpdate?.partition);
      break;
    default:
      out.push(invalid(path, goStrategy(strategy), "must be 'RollingUpdate' or 'OnDelete'"));
  }
}

const goStrategy = (strategy: Readonly<StatefulSetSpec['updateStrategy']>): Verbatim =>
  goStruct('apps.StatefulSetUpdateStrategy', {
    Type: goString(strategy.type),
    RollingUpdate: goPointer('apps.RollingUpdateStatefulSetStrategy', strategy.rollingUpdate),
  });

const RETENTION_POLICIES = ['Retain', 'Delete'];

function validateRetentionPolicy(out: FieldError[], spec: Readonly<StatefulSetSpec>): void {
  const path = 'spec.persistentVolumeClaimRetentionPolicy';
  for (const key of ['whenDeleted', 'whenScaled'] as const) {
    const policy = spec.persistentVolumeClaimRetentionPolicy?.[key] ?? '';
    if (!RETENTION_POLICIES.includes(policy)) out.push(notSupported(`${path}.${key}`, policy, RETENTION_POLICIES));
  }
}

export function validateStatefulSetUpdate(
  set: Readonly<StatefulSet>,
  old: Readonly<StatefulSet>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, set.metadata, old.metadata);
  validateSpec(out, set.spec);
  if (!semanticEqual(withoutMutable(set.spec), withoutMutable(old.spec))) {
    out.push(
      forbidden(
        'spec',
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ),
    );
  }
  return out;
}

function withoutMutable(spec: Readonly<StatefulSetSpec>): object {
  const {
    replicas: _replicas,
    ordinals: _ordinals,
    template: _template,
    updateStrategy: _updateStrategy,
    persistentVolumeClaimRetentionPolicy: _retention,
    minReadySeconds: _minReadySeconds,
    ...rest
  } = spec;
  return rest;
}

export function validateStatefulSetStatusUpdate(
  set: Readonly<StatefulSet>,
  old: Readonly<StatefulSet>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateStatus(out, set.status);
  validateObjectMetaUpdate(out, set.metadata, old.metadata);
  validateNotDecremented(out, 'status.collisionCount', set.status.collisionCount, old.status.collisionCount);
  return out;
}

function validateStatus(out: FieldError[], status: Readonly<StatefulSet['status']>): void {
  const counts = [
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
    'observedGeneration',
    'collisionCount',
  ] as const;
  for (const key of counts) validateNonNegative(out, `status.${key}`, status[key]);
  for (const key of ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const) {
    if ((status[key] ?? 0) > status.replicas) {
      out.push(invalid(`status.${key}`, status[key], 'cannot be greater than status.replicas'));
    }
  }
  if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0)) {
    out.push(
      invalid('status.availableReplicas', status.availableReplicas, 'cannot be greater than status.readyReplicas'),
    );
  }
}
