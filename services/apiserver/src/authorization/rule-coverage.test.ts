import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '@holdfast/api';
import fc from 'fast-check';
import type { ResourceRequest } from '../http/request-info.ts';
import { ruleAllows } from './rbac-rules.ts';
import { isAllowedBy } from './role-lookup.ts';
import { RulesTooManifold, uncovered } from './rule-coverage.ts';

const some = (...values: readonly string[]) => fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 });
const onResources = fc.record({
  verbs: some('get', 'list', 'watch', '*', 'constructor'),
  apiGroups: some('', 'apps', '*', '__proto__'),
  resources: some('pods', 'pods/log', 'secrets', '*/log', '*', 'toString'),
  resourceNames: some('a', 'b', 'hasOwnProperty'),
});
const onPaths = fc.record({
  verbs: some('get', 'post', '*'),
  nonResourceURLs: some('/api', '/api/*', '/api/v1', '*', '/ap*', '/healthz'),
});
const ruleSets = fc.array(fc.oneof({ weight: 3, arbitrary: onResources }, onPaths), { maxLength: 6 });

/** Every combination, written out, against every owned rule. */
function writtenOut(owned: readonly PolicyRule[], rules: readonly PolicyRule[]): readonly PolicyRule[] {
  return rules.flatMap(singles).filter((single) => !owned.some((each) => coversSingle(each, single)));
}

function singles(rule: PolicyRule): readonly PolicyRule[] {
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

function coversSingle(owner: PolicyRule, single: PolicyRule): boolean {
  const has = (list: readonly string[] | undefined, wanted: string | undefined): boolean =>
    list?.some((each) => each === wanted || each === '*') === true;
  if (!has(owner.verbs, single.verbs[0])) return false;
  const url = single.nonResourceURLs?.[0];
  if (url !== undefined) {
    const patterns = owner.nonResourceURLs ?? [];
    return patterns.some((each) => each === url || (each.endsWith('*') && url.startsWith(each.slice(0, -1))));
  }
  const [, subresource] = (single.resources?.[0] ?? '').split('/');
  const names = owner.resourceNames ?? [];
  return (
    has(owner.apiGroups, single.apiGroups?.[0]) &&
    (has(owner.resources, single.resources?.[0]) ||
      (subresource !== undefined && owner.resources?.includes(`*/${subresource}`) === true)) &&
    (names.length === 0 || names.some((name) => name === single.resourceNames?.[0]))
  );
}

test('the uncovered rules of a role equal those of the full expansion', () => {
  fc.assert(
    fc.property(ruleSets, ruleSets, (owned, rules) => {
      assert.deepEqual(uncovered(owned, rules), writtenOut(owned, rules));
    }),
    { numRuns: 2_000 },
  );
});

const many = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const EDITOR: readonly PolicyRule[] = [
  { verbs: ['get', 'list', 'watch'], apiGroups: ['', 'apps', 'batch'], resources: ['pods', 'jobs', 'deployments'] },
  { verbs: ['create', 'update'], apiGroups: [''], resources: ['pods', 'configmaps'] },
];
const wide = (count: number): PolicyRule => ({
  verbs: many('v', count),
  apiGroups: many('g', count),
  resources: many('r', count),
  resourceNames: many('n', count),
});
const bounds = { steps: 100_000, told: 1_000 };

test('a rule of 1,000 verbs, groups, resources and names is compared without expansion', () => {
  const missing = uncovered(EDITOR, [wide(1_000)], bounds);
  assert.equal(missing.length, bounds.told);
  const all: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  assert.deepEqual(uncovered([...EDITOR, all], [wide(1_000)], bounds), []);
  const three = [{ ...wide(1_000), resourceNames: [] }];
  assert.deepEqual(uncovered([wide(1_000), { ...wide(1_000), resourceNames: [] }], three, bounds), []);
});

test('the steps of a comparison stay below 150 for each rule', () => {
  const rules = (count: number): PolicyRule[] =>
    many('c', count).map((name) => ({ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: [name] }));
  for (const count of [1_000, 2_000, 4_000]) {
    const steps = 150 * count;
    assert.deepEqual(uncovered(rules(count), rules(count), { steps, told: 1 }), []);
    assert.equal(uncovered(EDITOR.slice(1), rules(count), { steps, told: count }).length, count);
  }
});

test('rules that need more than the allowed work are refused', () => {
  const crossed = many('x', 60).map((each, i) => ({
    verbs: many('v', 60).filter((_, at) => at !== i),
    apiGroups: many('g', 60).filter((_, at) => (at * 7 + i) % 5 !== 0),
    resources: many('r', 60).filter((_, at) => (at * 11 + i) % 3 !== 0),
    resourceNames: [...many('n', 60).filter((_, at) => (at + i) % 2 === 0), each],
  }));
  assert.throws(() => uncovered(crossed, [wide(60)], { steps: 10_000, told: 1_000_000 }), RulesTooManifold);
});

test('a role of many rules allows the union of its rules', () => {
  const resources = fc.constantFrom('pods', 'secrets', 'toString');
  const requests = fc.record({
    kind: fc.constant('resource' as const),
    verb: fc.constantFrom('get', 'list', 'constructor'),
    group: fc.constantFrom('', 'apps'),
    resource: resources,
    subresource: fc.constantFrom('', 'log'),
    name: fc.constantFrom('', 'a', 'hasOwnProperty'),
  });
  const filler = many('f', 20).map((name) => ({ verbs: ['none'], apiGroups: [''], resources: [name] }));
  fc.assert(
    fc.property(ruleSets, requests, (rules, asked) => {
      const info: ResourceRequest = { ...asked, path: '', version: 'v1', namespace: 'a', rest: '' };
      const all: PolicyRule[] = [...filler, ...rules];
      const allowed = all.some((rule) => ruleAllows(rule, info));
      assert.equal(isAllowedBy(all, info), allowed);
      assert.equal(isAllowedBy(all, info), allowed);
    }),
    { numRuns: 500 },
  );
});
