import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { FlowSchema, PolicyRulesWithSubjects } from '@holdfast/api';
import fc from 'fast-check';
import type { User } from '../authentication/identity.ts';
import { type RequestInfo, readRequestInfo } from '../http/request-info.ts';
import { completed } from './configuration.ts';
import { FlowMatcher } from './matching.ts';
import { BOOTSTRAP } from './testing.ts';

const infoOf = (line: string): RequestInfo => {
  const [method = 'GET', url = ''] = line.split(' ');
  const [path = '', query = ''] = url.split('?');
  return readRequestInfo({ method: method as 'GET', path, query: new URLSearchParams(query) });
};

const account = (namespace: string, name: string): User => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});
const NODE: User = { name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'] };
const MANAGER: User = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };
const PERSON: User = { name: 'jane', groups: ['system:authenticated'] };
const ADMIN: User = { name: 'root', groups: ['system:masters', 'system:authenticated'] };
const NOBODY: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

test('requests of a cluster match the schemas of Kubernetes 1.32', () => {
  const matcher = new FlowMatcher(completed(BOOTSTRAP).schemas);
  const rows: readonly (readonly [User, string, string])[] = [
    [ADMIN, 'GET /api/v1/pods', 'exempt'],
    [ADMIN, 'GET /metrics', 'exempt'],
    [NOBODY, 'GET /livez', 'probes'],
    [NOBODY, 'GET /readyz/ping', 'probes'],
    [NOBODY, 'GET /healthzz', 'global-default'],
    [NOBODY, 'POST /healthz', 'global-default'],
    [NODE, `PUT ${LEASES}/a`, 'system-node-high'],
    [NODE, 'PATCH /api/v1/nodes/a/status', 'system-node-high'],
    [NODE, 'GET /api/v1/nodes/a', 'system-node-high'],
    [NODE, 'GET /api/v1/namespaces/default/pods/p', 'system-nodes'],
    [NODE, 'GET /api/v1/nodes/a/proxy', 'system-nodes'],
    [NODE, 'GET /version', 'system-nodes'],
    [MANAGER, `PUT ${LEASES}/a`, 'system-leader-election'],
    [MANAGER, `DELETE ${LEASES}/a`, 'kube-controller-manager'],
    [MANAGER, 'GET /api/v1/namespaces/a/endpoints/b', 'endpoint-controller'],
    [MANAGER, 'POST /api/v1/namespaces/a/pods', 'kube-controller-manager'],
    [account('kube-system', 'x'), `PUT ${LEASES}/a`, 'system-leader-election'],
    [account('kube-system', 'x'), 'PUT /api/v1/namespaces/a/configmaps/b', 'workload-leader-election'],
    [account('kube-system', 'endpoint-controller'), 'PUT /api/v1/namespaces/a/endpoints/b', 'endpoint-controller'],
    [account('kube-system', 'x'), 'GET /api/v1/pods', 'kube-system-service-accounts'],
    [account('default', 'x'), 'GET /api/v1/pods', 'service-accounts'],
    [PERSON, 'GET /api/v1/pods', 'global-default'],
    [{ name: 'x', groups: [] }, 'GET /api/v1/pods', 'none'],
    [{ name: 'system:holdfast:fencer', groups: [] }, 'GET /api/v1/nodes', 'holdfast-fencer'],
  ];
  for (const [user, line, wanted] of rows) {
    assert.equal(matcher.match(user, infoOf(line))?.metadata.name ?? 'none', wanted, `${user.name}: ${line}`);
  }
});

const schema = (name: string, matchingPrecedence: number, rules: PolicyRulesWithSubjects[]): FlowSchema => ({
  apiVersion: '',
  kind: '',
  metadata: { name },
  spec: { matchingPrecedence, priorityLevelConfiguration: { name: 'p' }, rules },
  status: {},
});

/** The rule of the API, word for word and without an index. */
function firstByScan(schemas: readonly FlowSchema[], user: User, info: RequestInfo): string | undefined {
  const has = (values: readonly string[], value: string): boolean => values[0] === '*' || values.includes(value);
  const isSubject = ({ kind, user: by, group, serviceAccount }: PolicyRulesWithSubjects['subjects'][0]): boolean => {
    if (kind === 'User') return by?.name === '*' || by?.name === user.name;
    if (kind === 'Group') return group?.name === '*' || user.groups.includes(group?.name ?? '');
    const prefix = `system:serviceaccount:${serviceAccount?.namespace}:`;
    return serviceAccount?.name === '*' ? user.name.startsWith(prefix) : user.name === prefix + serviceAccount?.name;
  };
  const matches = ({ subjects, resourceRules = [], nonResourceRules = [] }: PolicyRulesWithSubjects): boolean => {
    if (!subjects.some(isSubject)) return false;
    if (info.kind === 'path') {
      const isBelow = (url: string): boolean =>
        url === '*' || url === info.path || info.path.startsWith(`${url.replace(/\/?\*?$/, '')}/`);
      return nonResourceRules.some((rule) => has(rule.verbs, info.verb) && rule.nonResourceURLs.some(isBelow));
    }
    const { verb, group, namespace, resource, subresource } = info;
    const whole = subresource === '' ? resource : `${resource}/${subresource}`;
    return resourceRules.some(
      (rule) =>
        has(rule.verbs, verb) &&
        has(rule.apiGroups, group) &&
        has(rule.resources, whole) &&
        (namespace === '' ? rule.clusterScope === true : has(rule.namespaces ?? [], namespace)),
    );
  };
  const order = (a: FlowSchema, b: FlowSchema): number =>
    (a.spec.matchingPrecedence ?? 0) - (b.spec.matchingPrecedence ?? 0) ||
    ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1);
  return schemas.toSorted(order).find(({ spec }) => (spec.rules ?? []).some(matches))?.metadata.name;
}

test('property: the index finds the schema that the rules match', () => {
  const some = (...values: string[]): fc.Arbitrary<string[]> =>
    fc.oneof(fc.constant<string[]>(['*']), fc.subarray(values, { minLength: 1 }));
  const subject = fc.constantFrom<PolicyRulesWithSubjects['subjects'][0]>(
    { kind: 'User', user: { name: 'jane' } },
    { kind: 'User', user: { name: '*' } },
    { kind: 'Group', group: { name: 'system:nodes' } },
    { kind: 'Group', group: { name: 'system:authenticated' } },
    { kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'a' } },
    { kind: 'ServiceAccount', serviceAccount: { name: 'x', namespace: 'b' } },
  );
  const rule = fc.record({
    subjects: fc.array(subject, { minLength: 1, maxLength: 2 }),
    resourceRules: fc.array(
      fc.record({
        verbs: some('get', 'list'),
        apiGroups: some('', 'apps'),
        resources: some('pods', 'pods/log'),
        namespaces: fc.oneof(fc.constant<string[]>([]), some('a', 'b')),
        clusterScope: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    nonResourceRules: fc.array(
      fc.record({ verbs: some('get', 'post'), nonResourceURLs: some('/', '/a', '/a/b', '/a/*') }),
      { maxLength: 2 },
    ),
  });
  const schemas = fc
    .array(fc.record({ precedence: fc.integer({ min: 1, max: 4 }), rules: fc.array(rule, { maxLength: 2 }) }), {
      maxLength: 6,
    })
    .map((all) => all.map(({ precedence, rules }, i) => schema(`s${i}`, precedence, rules)));
  const users = [PERSON, NODE, account('a', 'x'), account('b', 'x'), account('b', 'y'), account('ab', 'x'), NOBODY];
  const lines = [
    '/api/v1/pods',
    '/api/v1/namespaces/a/pods',
    '/api/v1/namespaces/c/pods/p',
    '/apis/apps/v1/namespaces/b/pods/p',
    '/api/v1/namespaces/a/pods/p/log',
    '/',
    '/a',
    '/a/b',
    '/a/b/c',
    '/ab',
    '/b',
  ].map((url) => infoOf(`GET ${url}`));
  fc.assert(
    fc.property(schemas, (all) => {
      const matcher = new FlowMatcher(all);
      for (const user of users) {
        for (const info of lines) {
          assert.equal(matcher.match(user, info)?.metadata.name, firstByScan(all, user, info), info.path);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('a repeated request evaluates no rule again, however many there are', () => {
  let reads = 0;
  const counted = new Proxy<string[]>(['pods'], {
    get: (target, key, receiver) => {
      if (key === 'includes') reads += 1;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  const subjects = [{ kind: 'Group', group: { name: 'system:authenticated' } }];
  const all = Array.from({ length: 1_000 }, (_, i) =>
    schema(`s${i}`, i + 1, [
      { subjects, resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: counted, namespaces: [`n${i}`] }] },
    ]),
  );
  const matcher = new FlowMatcher(all);
  const match = (namespace: string): string | undefined =>
    matcher.match({ ...PERSON }, infoOf(`GET /api/v1/namespaces/${namespace}/pods/p`))?.metadata.name;
  assert.equal(match('n999'), 's999');
  assert.equal(reads, 1_000);
  for (let i = 0; i < 1_000; i++) assert.equal(match(`n${i}`), `s${i}`);
  assert.equal(reads, 1_000);
});

test('client-chosen names do not fill the memory', () => {
  const matcher = new FlowMatcher(completed(BOOTSTRAP).schemas);
  for (let i = 0; i < 10_000; i++) {
    const name = matcher.match(PERSON, infoOf(`GET /api/v1/namespaces/a/kind${i}`))?.metadata.name;
    assert.equal(name, 'global-default');
  }
  assert.ok(matcher.remembered <= 2_048, `${matcher.remembered} kinds of requests`);
});
