import type { ClusterRole, ClusterRoleBinding, ObjectMeta, PolicyRule, Subject } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { uncovered } from '../authorization/rule-coverage.ts';
import { AUTOUPDATE, type BootstrapBinding, type BootstrapRole } from './role-shapes.ts';

/** The stored role with what it lacks; `undefined` when it lacks nothing, or is to stay as it is. What it has besides stays. */
export function reconciledRole(stored: ClusterRole, wanted: BootstrapRole): ClusterRole | undefined {
  if (isProtected(stored.metadata)) return undefined;
  const { aggregationRule } = wanted;
  const own = stored.aggregationRule?.clusterRoleSelectors ?? [];
  const selectors = (aggregationRule?.clusterRoleSelectors ?? []).filter(
    (each) => !own.some((other) => deepEqual(other, each)),
  );
  // The rules of a role that consists of others are theirs.
  const missing: readonly PolicyRule[] =
    aggregationRule === undefined ? uncovered(stored.rules ?? [], wanted.rules) : [];
  const { aggregationRule: _former, ...plain } = stored;
  const better: ClusterRole = {
    // Drops a stored aggregation rule that the wanted role does not have.
    ...(aggregationRule === undefined ? plain : stored),
    metadata: completed(stored.metadata, wanted.metadata),
    ...(missing.length === 0 ? {} : { rules: [...(stored.rules ?? []), ...missing] }),
    ...(selectors.length === 0 ? {} : { aggregationRule: { clusterRoleSelectors: [...own, ...selectors] } }),
  };
  return deepEqual(better, stored) ? undefined : better;
}

/**
 * A role of earlier servers has rules of its own, and loses them once it consists of others: its part, with what none of
 * these allows. `undefined` when nothing would be lost.
 */
export function partWithOwnRules(
  stored: ClusterRole,
  wanted: BootstrapRole,
  part: BootstrapRole,
): BootstrapRole | undefined {
  if (stored.aggregationRule !== undefined || isProtected(stored.metadata)) return undefined;
  const own = (stored.rules ?? []).filter((rule) => uncovered(wanted.rules, [rule]).length > 0);
  return own.length === 0 ? undefined : { ...part, rules: [...part.rules, ...own] };
}

/** The same as `reconciledRole`, for a binding. A binding to another role must be recreated. */
export function reconciledBinding(
  stored: ClusterRoleBinding,
  wanted: BootstrapBinding,
): ClusterRoleBinding | 'another role' | undefined {
  if (isProtected(stored.metadata)) return undefined;
  if (!deepEqual(stored.roleRef, wanted.roleRef)) return 'another role';
  const own = stored.subjects ?? [];
  const missing: readonly Subject[] = wanted.subjects.filter((each) => !own.some((other) => deepEqual(other, each)));
  const better: ClusterRoleBinding = {
    ...stored,
    metadata: completed(stored.metadata, wanted.metadata),
    ...(missing.length === 0 ? {} : { subjects: [...own, ...missing] }),
  };
  return deepEqual(better, stored) ? undefined : better;
}

const isProtected = ({ annotations }: ObjectMeta): boolean => annotations?.[AUTOUPDATE] === 'false';

const completed = (stored: ObjectMeta, wanted: BootstrapRole['metadata']): ObjectMeta => ({
  ...stored,
  labels: { ...wanted.labels, ...stored.labels },
  annotations: { ...wanted.annotations, ...stored.annotations },
});
