import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import type { KubeObject, ResourceRef } from '@holdfast/api';
import * as api from '@holdfast/api';
import { COMPONENT_GRANTS } from '@holdfast/apiserver';
import type { ApiClient } from '@holdfast/client';
import { waitFor } from '../support/wait.ts';
import { startWholeCluster, type WholeCluster, type WireCall } from '../support/whole-cluster.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Users by the name that the clients of the test cluster have. */
const USERS: ReadonlyMap<string, string> = new Map([
  ['manager', 'system:kube-controller-manager'],
  ['podGc', 'system:serviceaccount:kube-system:pod-garbage-collector'],
  ['certificates', 'system:serviceaccount:kube-system:certificate-controller'],
  ['scheduler', 'system:kube-scheduler'],
]);

/** The source files of each component: rights that this run does not use are found there. */
const SOURCES: ReadonlyMap<string, readonly string[]> = new Map([
  ['system:kube-controller-manager', ['services/controller-manager/src/**/*.ts', 'libs/client/src/*.ts']],
  [
    'system:serviceaccount:kube-system:pod-garbage-collector',
    ['services/controller-manager/src/controllers/pod-garbage/*.ts', 'libs/client/src/event-recorder.ts'],
  ],
  [
    'system:serviceaccount:kube-system:certificate-controller',
    ['services/controller-manager/src/controllers/certificate-*/*.ts', 'libs/client/src/event-recorder.ts'],
  ],
  ['system:kube-scheduler', ['services/scheduler/src/**/*.ts', 'libs/client/src/*.ts']],
  ['system:holdfast:fencer', ['services/fencer/src/**/*.ts', 'libs/client/src/event-recorder.ts']],
]);

/** Rights that no line of these sources names, each with the reason why it is given. */
const JUSTIFIED: ReadonlyMap<string, string> = new Map([
  ['update *', 'owners and finalizers of whatever kind there is; admission refuses more (OwnersOnly)'],
  ['delete *', 'the namespace controller and the garbage collector remove whatever kind there is'],
  ['update */scale', 'the autoscaler scales whatever kind has the subresource'],
  ['create pods/binding', 'the scheduler writes it through a path of its own'],
  ['delete pods', 'the scheduler evicts through a function that is handed to it'],
  ['update replicasets/status.apps', 'one loop serves ReplicaSets and ReplicationControllers; the kind is a parameter'],
  [
    'update replicationcontrollers/status',
    'one loop serves ReplicaSets and ReplicationControllers; the kind is a parameter',
  ],
  ['delete nodes', 'a fencer gives up a node whose fence is confirmed; admission refuses before'],
]);

const REFS = new Map(Object.entries(api).filter((entry): entry is [string, ResourceRef] => isRef(entry[1])));

function isRef(value: unknown): value is ResourceRef {
  return typeof value === 'object' && value !== null && 'plural' in value && 'group' in value && 'kind' in value;
}

const nameOf = ({ group, plural }: ResourceRef, subresource = ''): string =>
  `${plural}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;

const CALL = /client\.(create|update|updateStatus|updateSubresource|patch|delete)\(\s*([A-Z][A-Z_]+)/g;

/** `verb resource` of every write that names its kind in these files. */
function writesIn(patterns: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const files = globSync([...patterns], { cwd: root }).filter((file) => !/\.test\.ts$|\/testing\//.test(file));
  for (const file of files) {
    const text = readFileSync(path.join(root, file), 'utf8');
    for (const { 1: call = '', 2: constant = '', index } of text.matchAll(CALL)) {
      const ref = REFS.get(constant);
      assert.ok(ref !== undefined, `${file}: ${constant} is no resource`);
      const rest = text.slice(index, index + 200);
      const ofStatus = call === 'updateStatus' || /subresource: 'status'/.test(rest);
      const named = call === 'updateSubresource' ? /'([a-z]+)'\)/.exec(rest)?.[1] : undefined;
      const verb = call.startsWith('update') ? 'update' : call;
      found.add(`${verb} ${nameOf(ref, named ?? (ofStatus ? 'status' : ''))}`);
    }
  }
  return found;
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** `update deployments/status.apps` of a request; reads are all named `get`. */
function rightOf({ method, path: asked }: WireCall): string {
  const match =
    /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/(?=[^/]+(?:\/|$)))?([^/]+)(?:\/[^/]+(?:\/([^/]+))?)?$/.exec(
      asked,
    );
  const [, group = '', plural = '', subresource = ''] = match ?? [];
  return `${VERBS.get(method) ?? 'get'} ${nameOf({ group, plural } as ResourceRef, subresource)}`;
}

const template = {
  metadata: { labels: { app: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 0,
    tolerations: [{ operator: 'Exists' as const }],
    containers: [{ name: 'main', image: 'pause', resources: {} }],
  },
};
const selector = { matchLabels: { app: 'web' } };
const object = <T extends KubeObject>(ref: ResourceRef<T>, name: string, more: object): T =>
  ({
    apiVersion: ref.group === '' ? ref.version : `${ref.group}/${ref.version}`,
    kind: ref.kind,
    metadata: { name, ...(ref.namespaced ? { namespace: 'tour' } : {}) },
    ...more,
  }) as unknown as T;

/** One object of every kind that controllers reconcile. */
async function tour({ admin }: WholeCluster): Promise<void> {
  await admin.create(api.NAMESPACES, object(api.NAMESPACES, 'tour', {}));
  await waitFor('the account of the namespace', () =>
    admin.find(api.SERVICE_ACCOUNTS, { namespace: 'tour', name: 'default' }),
  );
  const spec = { replicas: 2, selector, template, serviceName: 'web' };
  await admin.create(api.DEPLOYMENTS, object(api.DEPLOYMENTS, 'web', { spec }));
  await admin.create(api.STATEFUL_SETS, object(api.STATEFUL_SETS, 'web', { spec }));
  await admin.create(api.DAEMON_SETS, object(api.DAEMON_SETS, 'web', { spec: { selector, template } }));
  await admin.create(
    api.REPLICATION_CONTROLLERS,
    object(api.REPLICATION_CONTROLLERS, 'old', { spec: { replicas: 1, selector: { app: 'web' }, template } }),
  );
  await admin.create(
    api.SERVICES,
    object(api.SERVICES, 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }),
  );
  await admin.create(
    api.POD_DISRUPTION_BUDGETS,
    object(api.POD_DISRUPTION_BUDGETS, 'web', { spec: { minAvailable: 1, selector } }),
  );
  await admin.create(api.RESOURCE_QUOTAS, object(api.RESOURCE_QUOTAS, 'web', { spec: { hard: { pods: '50' } } }));
  const job = { template: { spec: { ...template.spec, restartPolicy: 'Never' } } };
  await admin.create(api.JOBS, object(api.JOBS, 'once', { spec: job }));
  await admin.create(
    api.CRON_JOBS,
    object(api.CRON_JOBS, 'often', { spec: { schedule: '* * * * *', jobTemplate: { spec: job } } }),
  );
  const all = { clusterRoleSelectors: [{ matchLabels: { part: 'a' } }] };
  await admin.create(api.CLUSTER_ROLES, object(api.CLUSTER_ROLES, 'whole', { aggregationRule: all, rules: [] }));
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
  const part = object(api.CLUSTER_ROLES, 'part', { rules });
  await admin.create(api.CLUSTER_ROLES, { ...part, metadata: { name: 'part', labels: { part: 'a' } } });
  await waitFor(
    'a ready Deployment',
    async () => (await admin.get(api.DEPLOYMENTS, { namespace: 'tour', name: 'web' })).status.readyReplicas === 2,
  );
  await waitFor('endpoints', async () =>
    (await admin.list(api.ENDPOINT_SLICES, { namespace: 'tour' })).items.some(
      ({ endpoints }) => (endpoints ?? []).length > 0,
    ),
  );
  await waitFor(
    'a whole role',
    async () => (await admin.get(api.CLUSTER_ROLES, { name: 'whole' })).rules?.length === 1,
  );
  await leave(admin);
}

/** A node is removed for good with its pods, and then the namespace with all its content. */
async function leave(admin: ApiClient): Promise<void> {
  await admin.delete(api.DEPLOYMENTS, { namespace: 'tour', name: 'web' }, { propagationPolicy: 'Foreground' });
  await waitFor(
    'the Deployment gone',
    async () => (await admin.find(api.DEPLOYMENTS, { namespace: 'tour', name: 'web' })) === undefined,
  );
  await admin.delete(api.NAMESPACES, { name: 'tour' });
  await waitFor('the namespace gone', async () => (await admin.find(api.NAMESPACES, { name: 'tour' })) === undefined);
}

let forbidden: readonly string[] = [];
let used: ReadonlyMap<string, ReadonlySet<string>> = new Map();
before(async () => {
  await using cluster = await startWholeCluster({ a: {}, b: {} });
  await tour(cluster);
  forbidden = cluster.forbidden
    .filter(({ who }) => who !== 'admin')
    .map((call) => `${call.who}: ${call.method} ${call.path}`);
  used = new Map(
    [...USERS].map(([who, user]) => [user, new Set(cluster.calls.filter((call) => call.who === who).map(rightOf))]),
  );
});

test('no component makes a request that it has no right to', () => {
  assert.deepEqual([...new Set(forbidden)], []);
});

const isRead = (right: string): boolean => right.startsWith('get ');

/** A right to all kinds grants that of one, and a right to update that to patch. */
function isGranted(writes: ReadonlyMap<string, string>, right: string): boolean {
  const anyKind = right.replace(/ [^/]+(?:\/([^.]+).*)?$/, (_, subresource?: string) =>
    subresource === undefined ? ' *' : ` */${subresource}`,
  );
  if (writes.has(right) || writes.has(anyKind)) return true;
  return right.startsWith('patch ') && isGranted(writes, right.replace('patch', 'update'));
}

for (const [user, sources] of SOURCES) {
  test(`${user} has the rights that its sources and a run of all controllers use, and no others without a reason`, () => {
    const grants = COMPONENT_GRANTS.get(user);
    assert.ok(grants !== undefined);
    const done = [...(used.get(user) ?? [])];
    const writes = done.filter((right) => !isRead(right));
    const called = new Set([...writes, ...writesIn(sources)]);
    const unused = [...grants.writes.keys()].filter((right) => !called.has(right) && !JUSTIFIED.has(right));
    assert.deepEqual(unused, [], 'rights that nothing uses');
    const ungranted = writes.filter((right) => !isGranted(grants.writes, right));
    assert.deepEqual(ungranted, [], 'requests that the table does not name');
    const reads = done.filter(isRead).map((right) => right.slice('get '.length));
    assert.deepEqual(
      reads.filter((each) => !grants.reads.has('*') && !grants.reads.has(each)),
      [],
      'reads that the table does not name',
    );
  });
}
