import { type FieldError, invalid, notSupported } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../generated/types.ts';
import { POD_DISRUPTION_BUDGETS } from '../../refs.ts';
import { validateAnyMetadata } from '../../validation/common-metadata.ts';
import { validateConditions } from '../../validation/conditions.ts';
import { goPointer, goStruct } from '../../validation/go-text.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import {
  validateNonNegative,
  validateNonNegativeIntOrPercent,
  validateNotMoreThan100Percent,
} from '../../validation/numbers.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';

const NOT_AVAILABLE = 'N/A';
const COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;

export const podDisruptionBudgetResource = defineResource(POD_DISRUPTION_BUDGETS, {
  setDefaults: (budget) => {
    setDefault(budget, 'spec', {});
    setDefault(budget, 'status', noPods());
    for (const key of COUNTS) setDefault(budget.status, key, 0);
  },
  strategy: {
    prepareForCreate: (budget) => {
      budget.status = noPods();
    },
    prepareForUpdate: keepStatus,
    validateCreate: (budget) => {
      const out = specErrors(budget);
      // The name is checked only when the budget itself is valid. It may be any path segment.
      if (out.length === 0) validateAnyMetadata(out, budget, true);
      return out;
    },
    validateUpdate: specErrors,
    leavesMetadata: true,
    generationChanges: specChanged,
    allowUnconditionalUpdate: false,
  },
  status: statusOnly(({ status }) => {
    const out: FieldError[] = [];
    validateConditions(out, 'status.conditions', status.conditions);
    for (const key of COUNTS) validateNonNegative(out, `status.${key}`, status[key]);
    return out;
  }),
  columns: [
    nameColumn,
    textColumn('Min Available', 'Pods that must stay', (b) => String(b.spec.minAvailable ?? NOT_AVAILABLE)),
    textColumn('Max Unavailable', 'Pods that may be missing', (b) => String(b.spec.maxUnavailable ?? NOT_AVAILABLE)),
    integerColumn('Allowed Disruptions', 'Pods that may be evicted now', (b) => b.status.disruptionsAllowed),
    ageColumn,
  ],
});

const noPods = (): PodDisruptionBudget['status'] => ({
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
});

function specErrors({ spec }: Readonly<PodDisruptionBudget>): FieldError[] {
  const out: FieldError[] = [];
  validateSpec(out, spec);
  return out;
}

function validateSpec(out: FieldError[], spec: Readonly<PodDisruptionBudgetSpec>): void {
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
    out.push(invalid('spec', goSpec(spec), 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const key of ['minAvailable', 'maxUnavailable'] as const) {
    const value = spec[key];
    if (value === undefined) continue;
    validateNonNegativeIntOrPercent(out, `spec.${key}`, value);
    validateNotMoreThan100Percent(out, `spec.${key}`, value);
  }
  validateLabelSelector(out, 'spec.selector', spec.selector);
  const policy = spec.unhealthyPodEvictionPolicy;
  if (policy !== undefined && !POLICIES.includes(policy)) {
    out.push(notSupported('spec.unhealthyPodEvictionPolicy', policy, POLICIES));
  }
}

const POLICIES = ['AlwaysAllow', 'IfHealthyBudget'];

const goSpec = (spec: Readonly<PodDisruptionBudgetSpec>) =>
  goStruct('policy.PodDisruptionBudgetSpec', {
    MinAvailable: goPointer('intstr.IntOrString', spec.minAvailable),
    Selector: goPointer('v1.LabelSelector', spec.selector),
    MaxUnavailable: goPointer('intstr.IntOrString', spec.maxUnavailable),
    UnhealthyPodEvictionPolicy: goPointer('policy.UnhealthyPodEvictionPolicyType', spec.unhealthyPodEvictionPolicy),
  });
