import type { ResourceQuota } from '../generated/types.ts';
import type { KubeObject, ResourceRef } from '../resource.ts';
import { type Amounts, addAmounts, maskAmounts } from './amounts.ts';
import { scopesOf } from './charge.ts';
import { type QuotaEvaluator, quotaEvaluatorFor } from './evaluators.ts';
import { sumOf } from './pod-usage.ts';

/** A kind that a quota counts, with its evaluator. */
export interface CountedKind {
  readonly resource: ResourceRef;
  readonly evaluator: QuotaEvaluator;
}

/** Returns the kinds whose objects determine the usage of a quota. */
export function countedKinds(
  { spec }: Readonly<ResourceQuota>,
  resources: readonly ResourceRef[],
): readonly CountedKind[] {
  const names = Object.keys(spec.hard ?? {});
  const seen = new Set<string>();
  return resources.flatMap((resource) => {
    const key = `${resource.group}/${resource.plural}`;
    const evaluator = resource.namespaced ? quotaEvaluatorFor(resource.group, resource.plural) : undefined;
    if (evaluator === undefined || seen.has(key) || !names.some(evaluator.counts)) return [];
    seen.add(key);
    return [{ resource, evaluator }];
  });
}

/** Computes the quota's status from the objects of its namespace. */
export function recount(
  quota: Readonly<ResourceQuota>,
  found: readonly { readonly kind: CountedKind; readonly objects: readonly Readonly<KubeObject>[] }[],
  now: number,
): ResourceQuota['status'] {
  const hard = quota.spec.hard ?? {};
  const scopes = scopesOf(quota.spec);
  let used: Amounts = {};
  for (const { kind, objects } of found) {
    const { evaluator } = kind;
    const names = Object.keys(hard).filter(evaluator.counts);
    const counted = objects.filter((object) => scopes.every((selector) => evaluator.isInScope(selector, object)));
    const sum = sumOf(counted.map((object) => maskAmounts(evaluator.usage(object, now), names)));
    used = addAmounts(used, { ...Object.fromEntries(names.map((name) => [name, '0'])), ...sum });
  }
  return { hard: { ...hard }, used: { ...used } };
}
