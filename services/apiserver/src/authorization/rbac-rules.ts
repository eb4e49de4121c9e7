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

/** Combines the verbs of one resource, and formats each rule as Kubernetes does, sorted by text. */
export function describeRules(rules: readonly PolicyRule[]): readonly string[] {
  const verbs = new Map<string, string[]>();
  for (const { verbs: own, ...rest } of rules) {
    const key = rest.nonResourceURLs === undefined ? ruleParts(rest) : ruleParts({ ...rest, verbs: own });
    const known = verbs.get(key);
    if (known === undefined) verbs.set(key, [...own]);
    else known.push(...own);
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
