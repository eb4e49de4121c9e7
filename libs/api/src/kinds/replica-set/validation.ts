import { type FieldError, invalid } from '@holdfast/machinery';
import type { ReplicaSet, ReplicaSetSpec, ReplicaSetStatus } from '../../generated/types.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateNonNegative } from '../../validation/numbers.ts';
import { validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import {
  validateImmutableSelector,
  validateReplicaTemplate,
  validateSelectorPresent,
} from '../../validation/workload.ts';
import { checkedInSteps } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

/** An update is checked first as a new object, then as a change. */
export const replicaSetChecks = checkedInSteps<ReplicaSet>(META, {
  whole: (out, { spec }) => validateSpec(out, spec),
  change: (out, { spec }, old) => {
    validateSpec(out, spec);
    validateImmutableSelector(out, spec.selector, old.spec.selector);
  },
  onUpdate: ['whole', 'metadata', 'change'],
});

function validateSpec(out: FieldError[], spec: Readonly<ReplicaSetSpec>): void {
  validateNonNegative(out, 'spec.replicas', spec.replicas);
  validateNonNegative(out, 'spec.minReadySeconds', spec.minReadySeconds);
  validateSelectorPresent(out, spec.selector, 'deployment');
  validateReplicaTemplate(out, spec, 'ReplicaSet');
}

export function validateReplicaSetStatusUpdate(
  set: Readonly<ReplicaSet>,
  old: Readonly<ReplicaSet>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, set.metadata, old.metadata);
  validateReplicaStatus(out, set.status);
  return out;
}

/** The counts of a set shrink from all to labelled, ready and available. */
export function validateReplicaStatus(out: FieldError[], status: Readonly<ReplicaSetStatus>): void {
  const keys = [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
  ] as const;
  for (const key of keys) validateNonNegative(out, `status.${key}`, status[key]);
  for (const key of ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const) {
    if ((status[key] ?? 0) > status.replicas) {
      out.push(invalid(`status.${key}`, status[key], 'cannot be greater than status.replicas'));
    }
  }
  if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0)) {
    out.push(invalid('status.availableReplicas', status.availableReplicas, 'cannot be greater than readyReplicas'));
  }
}
