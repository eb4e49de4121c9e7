import { type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import type { DaemonSet, DaemonSetSpec, PodSpec } from '../../generated/types.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goIntOrString } from '../../validation/go-text.ts';
import { isEmptySelector, validateLabelSelector } from '../../validation/labels.ts';
import {
  intOrPercentValue,
  validateNonNegative,
  validateNonNegativeIntOrPercent,
  validateNotMoreThan100Percent,
} from '../../validation/numbers.ts';
import { validatePodTemplate } from '../../validation/pod/pod-template.ts';
import { goLabelSelector, validateImmutableSelector, validateTemplateLabels } from '../../validation/workload.ts';
import { checked, checkedUpdate } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const daemonSetChecks = checked<DaemonSet>(META, (out, set, old) => {
  validateSpec(out, set.spec);
  if (old !== undefined) validateImmutableSelector(out, set.spec.selector, old.spec.selector);
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
  validateReadOnlyDisks(out, template.spec);
  validateNonNegative(out, 'spec.minReadySeconds', spec.minReadySeconds);
  validateUpdateStrategy(out, spec.updateStrategy);
  validateNonNegative(out, 'spec.revisionHistoryLimit', spec.revisionHistoryLimit);
}

/** A disk that one node writes cannot be mounted by the pods of all the others. */
function validateReadOnlyDisks(out: FieldError[], spec: Readonly<PodSpec>): void {
  for (const [i, { gcePersistentDisk }] of (spec.volumes ?? []).entries()) {
    if (gcePersistentDisk === undefined || gcePersistentDisk.readOnly === true) continue;
    const path = `spec.template.spec.volumes[${i}].gcePersistentDisk.readOnly`;
    out.push(
      invalid(
        path,
        false,
        'must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only',
      ),
    );
  }
}

function validateUpdateStrategy(out: FieldError[], strategy: Readonly<DaemonSetSpec['updateStrategy']>): void {
  const path = 'spec.updateStrategy';
  if (strategy.type === 'OnDelete') return;
  if (strategy.type !== 'RollingUpdate') {
    out.push(notSupported(path, strategy.type ?? '', ['RollingUpdate', 'OnDelete']));
  } else if (strategy.rollingUpdate === undefined) out.push(required(`${path}.rollingUpdate`));
  else validateRollingUpdate(out, `${path}.rollingUpdate`, strategy.rollingUpdate);
}

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
  const unavailable = intOrPercentValue(maxUnavailable) !== 0;
  const surge = intOrPercentValue(maxSurge) !== 0;
  if (unavailable && surge) {
    out.push(invalid(`${path}.maxSurge`, goIntOrString(maxSurge), 'may not be set when maxUnavailable is non-zero'));
  } else if (!unavailable && !surge) out.push(required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
  validateNotMoreThan100Percent(out, `${path}.maxUnavailable`, maxUnavailable);
  validateNotMoreThan100Percent(out, `${path}.maxSurge`, maxSurge);
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
  if ((status.collisionCount ?? 0) < (old.status.collisionCount ?? 0)) {
    out.push(invalid('status.collisionCount', status.collisionCount, 'cannot be decremented'));
  }
});
