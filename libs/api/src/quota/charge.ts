import { ownValue } from '@holdfast/machinery';
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { type Amounts, addAmounts, growthOf, maskAmounts, namesAbove, printAmounts, withoutZeros } from './amounts.ts';
import type { QuotaEvaluator } from './evaluators.ts';

/** One write that may consume quota. */
export interface QuotaUse {
  readonly evaluator: QuotaEvaluator;
  readonly object: Readonly<KubeObject>;
  /** Absent for a new object. */
  readonly old: Readonly<KubeObject> | undefined;
  readonly now: number;
}

export type QuotaVerdict =
  /** The changed quotas, with their usage after the write. */
  | { readonly kind: 'granted'; readonly charged: readonly ResourceQuota[] }
  | { readonly kind: 'refused'; readonly why: string };

/** Computes the charge of a write to each quota of its namespace, or the reason why a quota refuses it. */
export function chargeQuotas(quotas: readonly Readonly<ResourceQuota>[], use: QuotaUse): QuotaVerdict {
  const covering = quotas.filter((quota) => covers(quota, use));
  for (const quota of covering) {
    const why = obstacle(quota, use);
    if (why !== undefined) return { kind: 'refused', why };
  }
  if (covering.length === 0) return { kind: 'granted', charged: [] };
  const growth = growthBy(use);
  const charged: ResourceQuota[] = [];
  for (const quota of covering) {
    const requested = maskAmounts(growth, Object.keys(quota.status.hard ?? {}));
    if (Object.keys(requested).length === 0) continue;
    const used = addAmounts(quota.status.used ?? {}, requested);
    const exceeded = namesAbove(maskAmounts(used, Object.keys(requested)), quota.status.hard ?? {});
    if (exceeded.length > 0) return { kind: 'refused', why: exceededText(quota, requested, exceeded) };
    charged.push({ ...quota, status: { ...quota.status, used } });
  }
  return { kind: 'granted', charged };
}

function growthBy({ evaluator, object, old, now }: QuotaUse): Amounts {
  const wanted = evaluator.usage(object, now);
  return old === undefined ? withoutZeros(wanted) : growthOf(wanted, evaluator.usage(old, now));
}

function covers(quota: Readonly<ResourceQuota>, { evaluator, object }: QuotaUse): boolean {
  if (!Object.keys(quota.status.hard ?? {}).some(evaluator.counts)) return false;
  return scopesOf(quota.spec).every((selector) => evaluator.isInScope(selector, object));
}

/** Combines both notations of a quota's scopes. */
export const scopesOf = (spec: Readonly<ResourceQuotaSpec>): readonly ScopedResourceSelectorRequirement[] => [
  ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
  ...(spec.scopeSelector?.matchExpressions ?? []),
];

function obstacle({ metadata, status }: Readonly<ResourceQuota>, { evaluator, object }: QuotaUse): string | undefined {
  const name = metadata.name ?? '';
  const counted = Object.keys(status.hard ?? {})
    .filter(evaluator.counts)
    .sort();
  const unspecified = evaluator.unspecified(object, counted);
  if (unspecified !== undefined) return `failed quota: ${name}: ${unspecified}`;
  if (counted.every((each) => ownValue(status.used, each) !== undefined)) return undefined;
  return `status unknown for quota: ${name}, resources: ${counted.join(',')}`;
}

function exceededText(
  { metadata, status }: Readonly<ResourceQuota>,
  requested: Amounts,
  exceeded: readonly string[],
): string {
  const shown = (amounts: Amounts | undefined): string => printAmounts(maskAmounts(amounts ?? {}, exceeded));
  return `exceeded quota: ${metadata.name}, requested: ${shown(requested)}, used: ${shown(status.used)}, limited: ${shown(status.hard)}`;
}
