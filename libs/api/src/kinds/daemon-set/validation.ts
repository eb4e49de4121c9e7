import { type FieldError, forbidden, invalid, notSupported, required, type Verbatim } from '@holdfast/machinery';
import type { DaemonSet, DaemonSetSpec } from '../../generated/types.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goIntOrString, goPointer, goString, goStruct } from '../../validation/go-text.ts';
import { isEmptySelector, validateLabelSelector } from '../../validation/labels.ts';
import {
  intOrPercentValue,
  validateNonNegative,
  validateNonNegativeIntOrPercent,
  validateNotDecremented,
  validateNotMoreThan100Percent,
} from '../../validation/numbers.ts';
import { validatePodTemplate } from '../../validation/pod/pod-template.ts';
import { goLabelSelector, validateImmutableSelector, validateTemplateLabels } from '../../validation/workload.ts';
import { checkedInSteps, checkedUpdate } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

/** An update is checked first as a new object, then as a change. */
export const daemonSetChecks = checkedInSteps<DaemonSet>(META, {
  whole: (out, { spec }) => validateSpec(out, spec),
  change: (out, { spec }, old) => {
    validateSpec(out, spec);
    validateImmutableSelector(out, spec.selector, old.spec.selector);
  },
  onUpdate: ['whole', 'metadata', 'change'],
});

function validateSpec(out: FieldError[], spec: Readonly<DaemonSetSpec>): void {
  const { selector, template } = spec;
  validateLabelSelector(out, 'spec.selector', selector);
  validateTemplateLabels(out, selector, template);
  if (selector !== undefined && isEmptySelector(selector)) {
    out.push(invalid('spec.selector', goLabelSelector(selector), 'empty selector is invalid for daemonset'));
  }
  validatePodTemplate(out, 'spec.template', template);
  const restartPolicy = template.spec.restartPolicy ?? '';
  if (restartPolicy !== 'Always') {
    out.push(notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  }
  if (template.spec.activeDeadlineSeconds !== undefined) {
    const text = 'activeDeadlineSeconds in DaemonSet is not Supported';
    out.push(forbidden('spec.template.spec.activeDeadlineSeconds', text));
  }
  validateNonNegative(out, 'spec.minReadySeconds', spec.minReadySeconds);
  validateUpdateStrategy(out, spec.updateStrategy);
  validateNonNegative(out, 'spec.revisionHistoryLimit', spec.revisionHistoryLimit);
}

function validateUpdateStrategy(out: FieldError[], strategy: Readonly<DaemonSetSpec['updateStrategy']>): void {
  const path = 'spec.updateStrategy';
  if (strategy.type === 'OnDelete') return;
  if (strategy.type !== 'RollingUpdate') {
    out.push(notSupported(path, goStrategy(strategy), ['RollingUpdate', 'OnDelete']));
  } else if (strategy.rollingUpdate === undefined) out.push(required(`${path}.rollingUpdate`));
  else validateRollingUpdate(out, `${path}.rollingUpdate`, strategy.rollingUpdate);
}

const goStrategy = (strategy: Readonly<DaemonSetSpec['updateStrategy']>): Verbatim =>
  goStruct('apps.DaemonSetUpdateStrategy', {
    Type: goString(strategy.type),
    RollingUpdate: goPointer('apps.RollingUpdateDaemonSet', strategy.rollingUpdate),
  });

function validateRollingUpdate(
  out: FieldError[],
  path: string,
  {
    maxUnavailable = 0,
    maxSurge = 0,
  }: { readonly maxUnavailable?: number | string; readonly maxSurge?: number | string },
): void {
  validateNonNegativeIntOrPercent(out, `${path}.maxUnavailable`, maxUnavailable);
  validateNonNegativeIntOrPercent(out, `${path}.maxSurge`, maxSurge);
  validateNotMoreThan100Percent(out, `${path}.maxUnavailable`, maxUnavailable);
  validateNotMoreThan100Percent(out, `${path}.maxSurge`, maxSurge);
  const unavailable = intOrPercentValue(maxUnavailable) !== 0;
  const surge = intOrPercentValue(maxSurge) !== 0;
  if (unavailable && surge) {
    out.push(invalid(`${path}.maxSurge`, goIntOrString(maxSurge), 'may not be set when maxUnavailable is non-zero'));
  } else if (!unavailable && !surge) out.push(required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
}

const COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const;

export const validateDaemonSetStatusUpdate = checkedUpdate<DaemonSet>((out, { status }, old) => {
  for (const key of COUNTS) validateNonNegative(out, `status.${key}`, status[key]);
  validateNotDecremented(out, 'status.collisionCount', status.collisionCount, old.status.collisionCount);
});
