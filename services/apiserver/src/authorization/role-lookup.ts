import type { PolicyRule } from '@holdfast/api';
import type { RequestInfo } from '../http/request-info.ts';
import { ruleAllows } from './rbac-rules.ts';

/** A role with fewer rules is walked through: an index would cost more. */
const FEW_RULES = 16;

interface RoleLookup {
  /** Rules that can match any request. */
  readonly general: readonly PolicyRule[];
  readonly byResource: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly byName: ReadonlyMap<string, readonly PolicyRule[]>;
}

/** The rules of a stored role never change: a changed role is another object. */
const lookups = new WeakMap<readonly PolicyRule[], RoleLookup>();

/** Does a role with these rules allow the request? A role of many rules is indexed at its first use. */
export function isAllowedBy(rules: readonly PolicyRule[], info: RequestInfo): boolean {
  if (rules.length < FEW_RULES) return anyAllows(rules, info);
  const lookup = lookups.get(rules) ?? buildLookup(rules);
  lookups.set(rules, lookup);
  if (anyAllows(lookup.general, info)) return true;
  if (info.kind === 'path') return false;
  const { resource, subresource, name } = info;
  const asked = subresource === '' ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
  return (
    asked.some((each) => anyAllows(lookup.byResource.get(each) ?? [], info)) ||
    anyAllows(lookup.byName.get(name) ?? [], info)
  );
}

const anyAllows = (rules: readonly PolicyRule[], info: RequestInfo): boolean =>
  rules.some((rule) => ruleAllows(rule, info));

/** Each rule is indexed by its names or by its resources, never by the product of both. */
function buildLookup(rules: readonly PolicyRule[]): RoleLookup {
  const general: PolicyRule[] = [];
  const byResource = new Map<string, PolicyRule[]>();
  const byName = new Map<string, PolicyRule[]>();
  for (const rule of rules) {
    const { resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
    if (nonResourceURLs.length > 0) general.push(rule);
    else if (resourceNames.length > 0) for (const name of new Set(resourceNames)) add(byName, name, rule);
    else if (resources.includes('*')) general.push(rule);
    else for (const resource of new Set(resources)) add(byResource, resource, rule);
  }
  return { general, byResource, byName };
}

function add(map: Map<string, PolicyRule[]>, key: string, rule: PolicyRule): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [rule]);
  else known.push(rule);
}
