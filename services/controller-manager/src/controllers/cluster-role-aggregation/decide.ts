import { type ClusterRole, type PolicyRule, selectorOf } from '@holdfast/api';
import { canonicalJson } from '../../common/hash.ts';
import { byName, nameOf } from '../../common/meta.ts';

/** Returns the role with the rules of all selected roles; `undefined` when it is up to date or is not an aggregate. */
export function decide(role: ClusterRole, roles: readonly ClusterRole[]): ClusterRole | undefined {
  const { aggregationRule } = role;
  if (aggregationRule === undefined) return undefined;
  const selectors = (aggregationRule.clusterRoleSelectors ?? []).map(selectorOf);
  const selected = roles.filter(
    (each) => nameOf(each) !== nameOf(role) && selectors.some((selector) => selector.matches(each.metadata.labels)),
  );
  const rules = new Map<string, PolicyRule>();
  for (const rule of selected.sort(byName).flatMap((each) => each.rules ?? [])) rules.set(textOf(rule), rule);
  const wanted = [...rules.values()];
  return areSame(role.rules ?? [], [...rules.keys()]) ? undefined : { ...role, rules: wanted };
}

const areSame = (rules: readonly PolicyRule[], wanted: readonly string[]): boolean =>
  rules.length === wanted.length && rules.every((rule, i) => textOf(rule) === wanted[i]);

/** Rules never change, and all aggregates go through all of them with each change of a role. */
const texts = new WeakMap<PolicyRule, string>();

function textOf(rule: PolicyRule): string {
  const known = texts.get(rule);
  if (known !== undefined) return known;
  const text = canonicalJson(rule);
  texts.set(rule, text);
  return text;
}
