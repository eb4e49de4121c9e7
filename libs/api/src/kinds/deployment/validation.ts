import { type FieldError, forbidden, invalid, notSupported, required, type Verbatim } from '@holdfast/machinery';
import type { Deployment, DeploymentSpec, RollingUpdateDeployment } from '../../generated/types.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goIntOrString, goPointer, goString, goStruct } from '../../validation/go-text.ts';
import {
  intOrPercentValue,
  validateNonNegative,
  validateNonNegativeIntOrPercent,
  validateNotDecremented,
  validateNotMoreThan100Percent,
} from '../../validation/numbers.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import {
  validateImmutableSelector,
  validateReplicaTemplate,
  validateSelectorPresent,
} from '../../validation/workload.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export function validateDeploymentCreate(deployment: Readonly<Deployment>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, deployment.metadata, META);
  validateSpec(out, deployment.spec);
  return out;
}

export function validateDeploymentUpdate(
  deployment: Readonly<Deployment>,
  old: Readonly<Deployment>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, deployment.metadata, old.metadata);
  validateSpec(out, deployment.spec);
  validateImmutableSelector(out, deployment.spec.selector, old.spec.selector);
  return out;
}

function validateSpec(out: FieldError[], spec: Readonly<DeploymentSpec>): void {
  validateNonNegative(out, 'spec.replicas', spec.replicas);
  validateSelectorPresent(out, spec.selector, 'deployment');
  validateReplicaTemplate(out, spec, 'ReplicaSet');
  validateStrategy(out, spec);
  validateNonNegative(out, 'spec.minReadySeconds', spec.minReadySeconds);
  validateNonNegative(out, 'spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  const deadline = spec.progressDeadlineSeconds;
  validateNonNegative(out, 'spec.progressDeadlineSeconds', deadline);
  if (deadline !== undefined && deadline <= (spec.minReadySeconds ?? 0)) {
    out.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  }
}

function validateStrategy(out: FieldError[], { strategy }: Readonly<DeploymentSpec>): void {
  const path = 'spec.strategy';
  switch (strategy.type ?? '') {
    case 'Recreate':
      if (strategy.rollingUpdate !== undefined) {
        out.push(forbidden(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'"));
      }
      break;
    case 'RollingUpdate':
      if (strategy.rollingUpdate === undefined) {
        out.push(required(`${path}.rollingUpdate`, 'this should be defaulted and never be nil'));
      } else validateRollingUpdate(out, `${path}.rollingUpdate`, strategy.rollingUpdate);
      break;
    default:
      out.push(notSupported(path, goStrategy(strategy), ['Recreate', 'RollingUpdate']));
  }
}

const goStrategy = (strategy: Readonly<DeploymentSpec['strategy']>): Verbatim =>
  goStruct('apps.DeploymentStrategy', {
    Type: goString(strategy.type),
    RollingUpdate: goPointer('apps.RollingUpdateDeployment', strategy.rollingUpdate),
  });

function validateRollingUpdate(out: FieldError[], path: string, rolling: Readonly<RollingUpdateDeployment>): void {
  const { maxUnavailable = 0, maxSurge = 0 } = rolling;
  validateNonNegativeIntOrPercent(out, `${path}.maxUnavailable`, maxUnavailable);
  validateNonNegativeIntOrPercent(out, `${path}.maxSurge`, maxSurge);
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    // A rollout that may neither add nor remove a pod cannot proceed.
    out.push(invalid(`${path}.maxUnavailable`, goIntOrString(maxUnavailable), 'may not be 0 when `maxSurge` is 0'));
  }
  validateNotMoreThan100Percent(out, `${path}.maxUnavailable`, maxUnavailable);
}

export function validateDeploymentStatusUpdate(
  deployment: Readonly<Deployment>,
  old: Readonly<Deployment>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, deployment.metadata, old.metadata);
  const { status } = deployment;
  const counts = [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'collisionCount',
  ] as const;
  for (const key of counts) validateNonNegative(out, `status.${key}`, status[key]);
  const replicas = status.replicas ?? 0;
  const atMost = (
    key: 'updatedReplicas' | 'readyReplicas' | 'availableReplicas',
    limit: number,
    name: string,
  ): void => {
    if ((status[key] ?? 0) > limit) out.push(invalid(`status.${key}`, status[key], `cannot be greater than ${name}`));
  };
  atMost('updatedReplicas', replicas, 'status.replicas');
  atMost('readyReplicas', replicas, 'status.replicas');
  atMost('availableReplicas', replicas, 'status.replicas');
  atMost('availableReplicas', status.readyReplicas ?? 0, 'readyReplicas');
  validateNotDecremented(out, 'status.collisionCount', status.collisionCount, old.status.collisionCount);
  return out;
}
