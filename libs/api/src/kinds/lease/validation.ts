import { type FieldError, invalid } from '@holdfast/machinery';
import type { Lease } from '../../generated/types.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { NEGATIVE_TEXT, NOT_POSITIVE_TEXT } from '../../validation/numbers.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';

const META = { namespaced: true, name: dnsSubdomainErrors, standardFinalizers: false } as const;

export function validateLeaseCreate(lease: Readonly<Lease>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, lease.metadata, META);
  validateLeaseSpec(out, lease);
  return out;
}

export function validateLeaseUpdate(lease: Readonly<Lease>, old: Readonly<Lease>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, lease.metadata, old.metadata, { standardFinalizers: false });
  validateLeaseSpec(out, lease);
  return out;
}

function validateLeaseSpec(out: FieldError[], { spec }: Readonly<Lease>): void {
  if (spec.leaseDurationSeconds !== undefined && spec.leaseDurationSeconds <= 0) {
    out.push(invalid('spec.leaseDurationSeconds', spec.leaseDurationSeconds, NOT_POSITIVE_TEXT));
  }
  if (spec.leaseTransitions !== undefined && spec.leaseTransitions < 0) {
    out.push(invalid('spec.leaseTransitions', spec.leaseTransitions, NEGATIVE_TEXT));
  }
}
