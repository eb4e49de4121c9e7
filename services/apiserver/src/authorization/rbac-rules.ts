import type { PolicyRule } from '@holdfast/api';
import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';

/** The rights of cluster-admin. */
export const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Does one rule of a role allow the request? */
export function ruleAllows(rule: Readonly<PolicyRule>, info: RequestInfo): boolean {
  if (!has(rule.verbs, info.verb)) return false;
  return info.kind === 'path' ? pathAllowed(rule.nonResourceURLs ?? [], info.path) : resourceAllowed(rule, info);
}

function resourceAllowed(rule: Readonly<PolicyRule>, info: ResourceRequest): boolean {
  const { apiGroups = [], resources = [], resourceNames = [] } = rule;
  return (
    has(apiGroups, info.group) &&
    resourceMatches(resources, info) &&
    (resourceNames.length === 0 || resourceNames.includes(info.name))
  );
}

function resourceMatches(resources: readonly string[], info: ResourceRequest): boolean {
  const { resource, subresource } = info;
  const wanted = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    resources.includes('*') ||
    resources.includes(wanted) ||
    (subresource !== '' && resources.includes(`*/${subresource}`))
  );
}

const pathAllowed = (patterns: readonly string[], path: string): boolean =>
  patterns.some((each) => each === path || each === '*' || (each.endsWith('*') && path.startsWith(each.slice(0, -1))));

const has = (list: readonly string[], wanted: string): boolean => list.includes(wanted) || list.includes('*');

/** What `rules` allow and `owned` does not: one rule for each combination that no owned rule covers. */
export const uncovered = (owned: readonly PolicyRule[], rules: readonly PolicyRule[]): readonly PolicyRule[] =>
  rules.flatMap(breakdown).filter((single) => !owned.some((each) => coversSingle(each, single)));

/** Puts the verbs of one resource together again, and says each rule as Kubernetes does, in the order of the texts. */
export function describeRules(rules: readonly PolicyRule[]): readonly string[] {
  const verbs = new Map<string, string[]>();
  for (const { verbs: own, ...rest } of rules) {
    const key = rest.nonResourceURLs === undefined ? ruleParts(rest) : ruleParts({ ...rest, verbs: own });
    verbs.set(key, [...(verbs.get(key) ?? []), ...own]);
  }
  const texts = [...verbs].map(([key, all]) =>
    key.includes(', Verbs:') ? `{${key}}` : `{${key}, Verbs:${goQuoted(all)}}`,
  );
  return [...new Set(texts)].toSorted();
}

function ruleParts(rule: Partial<PolicyRule>): string {
  const parts: readonly (readonly [name: string, values: readonly string[] | undefined])[] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  return parts.flatMap(([name, values]) => (values === undefined ? [] : [`${name}:${goQuoted(values)}`])).join(', ');
}

/** A list as Go quotes it: without commas. */
export const goQuoted = (values: readonly string[]): string =>
  `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

function breakdown(rule: Readonly<PolicyRule>): readonly PolicyRule[] {
  const names = rule.resourceNames ?? [];
  return rule.verbs.flatMap((verb) => [
    ...(rule.apiGroups ?? []).flatMap((group) =>
      (rule.resources ?? []).flatMap((resource): readonly PolicyRule[] => {
        const single = { verbs: [verb], apiGroups: [group], resources: [resource] };
        return names.length === 0 ? [single] : names.map((name) => ({ ...single, resourceNames: [name] }));
      }),
    ),
    ...(rule.nonResourceURLs ?? []).map((url): PolicyRule => ({ verbs: [verb], nonResourceURLs: [url] })),
  ]);
}

function coversSingle(owner: Readonly<PolicyRule>, single: Readonly<PolicyRule>): boolean {
  const verb = single.verbs[0] ?? '';
  if (!has(owner.verbs, verb)) return false;
  const url = single.nonResourceURLs?.[0];
  if (url !== undefined) return pathAllowed(owner.nonResourceURLs ?? [], url);
  const name = single.resourceNames?.[0];
  const resource = single.resources?.[0] ?? '';
  const ownerNames = owner.resourceNames ?? [];
  return (
    has(owner.apiGroups ?? [], single.apiGroups?.[0] ?? '') &&
    ((owner.resources ?? []).includes(resource) || coversWildcard(owner.resources ?? [], resource)) &&
    (ownerNames.length === 0 || (name !== undefined && ownerNames.includes(name)))
  );
}

function coversWildcard(owned: readonly string[], resource: string): boolean {
  const slash = resource.indexOf('/');
  return owned.includes('*') || (slash > 0 && owned.includes(`*${resource.slice(slash)}`));
}
