import { type FieldError, invalid, MAX_FIELD_ERRORS, required, Verbatim } from '@holdfast/machinery';
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../../generated/types.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { goStrings } from '../../validation/go-text.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateAmounts, validateQuotaResourceName } from '../../validation/quantities.ts';
import { isStandardQuotaResource } from '../../validation/resource-names.ts';
import { checked, checkedUpdate } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const resourceQuotaChecks = checked<ResourceQuota>(META, (out, quota, old) => {
  const { spec } = quota;
  validateAmounts(out, 'spec.hard', spec.hard, validateQuotaResourceName);
  validateScopes(out, spec);
  validateScopeSelector(out, spec);
  if (old === undefined) return;
  const before = new Set(old.spec.scopes);
  const after = new Set(spec.scopes);
  if (before.size !== after.size || [...after].some((scope) => !before.has(scope))) {
    out.push(invalid('spec.scopes', goScopes(spec), IMMUTABLE_TEXT));
  }
});

const goScopes = (spec: Readonly<ResourceQuotaSpec>): Verbatim => goStrings(spec.scopes, 'core.ResourceQuotaScope');

const SCOPES = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
];
const EXCLUSIVE = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

const POD_COMPUTE: ReadonlySet<string> = new Set([
  'pods',
  'cpu',
  'memory',
  'requests.cpu',
  'requests.memory',
  'limits.cpu',
  'limits.memory',
]);

/** A scope selects pods: it works only for resources that pods use. */
function scopeCounts(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods';
  const known = ['Terminating', 'NotTerminating', 'NotBestEffort', 'PriorityClass', 'CrossNamespacePodAffinity'];
  return known.includes(scope) ? POD_COMPUTE.has(resource) : true;
}

function validateScopes(out: FieldError[], spec: Readonly<ResourceQuotaSpec>): void {
  const path = 'spec.scopes';
  const scopes = spec.scopes ?? [];
  const shown = goScopes(spec);
  const uncounted = uncountedBy(spec);
  for (const scope of scopes) {
    if (!SCOPES.includes(scope)) out.push(invalid(path, shown, 'unsupported scope'));
    const problem = invalid(path, shown, 'unsupported scope applied to resource');
    for (let left = uncounted(scope); left > 0 && out.length < MAX_FIELD_ERRORS; left -= 1) out.push(problem);
  }
  for (const pair of EXCLUSIVE) {
    if (pair.every((scope) => scopes.includes(scope))) out.push(invalid(path, goScopes(spec), 'conflicting scopes'));
  }
}

/** Returns the number of resources that a scope cannot count; cached per scope, because scopes may repeat. */
function uncountedBy(spec: Readonly<ResourceQuotaSpec>): (scope: string) => number {
  const names = Object.keys(spec.hard ?? {}).filter(isStandardQuotaResource);
  const known = new Map<string, number>();
  return (scope) => {
    // An unknown scope has its own error.
    if (!SCOPES.includes(scope)) return 0;
    const found = known.get(scope) ?? names.filter((name) => !scopeCounts(scope, name)).length;
    known.set(scope, found);
    return found;
  };
}

function validateScopeSelector(out: FieldError[], spec: Readonly<ResourceQuotaSpec>): void {
  const path = 'spec.scopeSelector.matchExpressions';
  const requirements = spec.scopeSelector?.matchExpressions ?? [];
  const uncounted = uncountedBy(spec);
  const problem = invalid(
    path,
    goValue('core.ScopeSelector', spec.scopeSelector),
    'unsupported scope applied to resource',
  );
  for (const requirement of requirements) {
    if (!SCOPES.includes(requirement.scopeName)) {
      out.push(invalid(`${path}.scopeName`, requirement.scopeName ?? '', 'unsupported scope'));
    }
    for (let left = uncounted(requirement.scopeName); left > 0 && out.length < MAX_FIELD_ERRORS; left -= 1) {
      out.push(problem);
    }
    validateOperator(out, path, requirement);
  }
  const scopes = requirements.map((requirement) => requirement.scopeName);
  for (const pair of EXCLUSIVE) {
    if (pair.every((scope) => scopes.includes(scope))) out.push(invalid(path, goScopes(spec), 'conflicting scopes'));
  }
}

function validateOperator(
  out: FieldError[],
  path: string,
  requirement: Readonly<ScopedResourceSelectorRequirement>,
): void {
  const { scopeName, operator, values = [] } = requirement;
  if (scopeName !== 'PriorityClass' && SCOPES.includes(scopeName) && operator !== 'Exists') {
    const scopes =
      'ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity';
    out.push(invalid(`${path}.operator`, operator ?? '', `must be 'Exists' when scope is any of ${scopes}`));
  }
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return;
    out.push(
      required(`${path}.values`, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
    );
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length === 0) return;
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    out.push(invalid(`${path}.values`, goStrings(values), detail));
  } else out.push(invalid(`${path}.operator`, operator ?? '', 'not a valid selector operator'));
}

export const validateResourceQuotaStatusUpdate = checkedUpdate<ResourceQuota>((out, { status }) => {
  validateAmounts(out, 'status.hard', status.hard, validateQuotaResourceName);
  validateAmounts(out, 'status.used', status.used, validateQuotaResourceName);
});
