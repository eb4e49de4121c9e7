import { type FieldError, forbidden, invalid, required } from '@holdfast/machinery';
import type { Lease } from '../../generated/types.ts';
import { dnsSubdomainErrors, qualifiedNameErrors } from '../../validation/formats.ts';
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
  validateObjectMetaUpdate(out, lease.metadata, old.metadata);
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
  validateStrategy(out, spec.strategy);
  if (spec.preferredHolder !== undefined && spec.preferredHolder !== '' && !spec.strategy) {
    out.push(forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'));
  }
}

const STRATEGIES: ReadonlySet<string> = new Set(['OldestEmulationVersion']);

/** Strategies of others are theirs to name, as long as the name has a domain. */
function validateStrategy(out: FieldError[], strategy: string | undefined): void {
  if (strategy === undefined || STRATEGIES.has(strategy)) return;
  const path = 'spec.strategy';
  if (strategy === '') out.push(required(path));
  else if (!strategy.includes('/')) {
    out.push(invalid(path, strategy, 'must be a domain-prefixed key (such as "acme.io/foo")'));
  } else for (const text of qualifiedNameErrors(strategy)) out.push(invalid(path, strategy, text));
}
