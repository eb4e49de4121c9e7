import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, type Deployment, NODES, PODS } from '@holdfast/api';
import { waitFor } from '../support/wait.ts';
import { startWholeCluster, type WireCall } from '../support/whole-cluster.ts';

const PODS_WANTED = 60;

const deployment: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: PODS_WANTED,
    selector: { matchLabels: { app: 'web' } },
    strategy: {},
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'pause', resources: {} }],
      },
    },
  },
  status: {},
};

/** `who: method kind` of a request about pods or what follows from them. */
function kindOf({ who, method, path }: WireCall): string {
  const of = path.replace(/\?.*/, '').split('/');
  const at = of.indexOf('default');
  const [resource = '', name = '', subresource = ''] = at < 0 ? of.slice(-1) : of.slice(at + 1);
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  return `${who.startsWith('node-') ? 'node' : who}: ${method} ${what}${method === 'GET' && name === '' ? ' (list)' : ''}`;
}

function perPod(calls: readonly WireCall[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(kindOf(call), (counts.get(kindOf(call)) ?? 0) + 1);
  return Object.fromEntries([...counts].map(([kind, count]) => [kind, count / PODS_WANTED]));
}

/** Batched for many pods; the number depends on their duration. */
const STATUS = { 'manager: PUT replicasets/status': 1.2, 'manager: PUT deployments/status': 1.2 };

/** Maximum requests per pod: one per step of its life that no other component could do; a few may be repeated. */
const COMES: Readonly<Record<string, number>> = {
  'manager: POST pods': 1,
  'scheduler: POST pods/binding': 1,
  'node: PATCH pods/status': 1.5,
  // Creation, scheduling, image, container, start.
  'manager: POST events': 1.2,
  'scheduler: POST events': 1.1,
  'node: POST events': 3.1,
  ...STATUS,
};

const GOES: Readonly<Record<string, number>> = {
  'manager: DELETE pods': 1,
  'node: PATCH pods/status': 1.5,
  'node: DELETE pods': 1,
  'manager: POST events': 1.2,
  'node: POST events': 1.1,
  ...STATUS,
};

/** Uncached reads whether the pod may start, and whether it is gone. */
const LOOKS = 'node: GET pods (list)';
/** Requests about owners, nodes and leases: shared by all pods. */
const SHARED_MAX = 1;

function check(calls: readonly WireCall[], allowed: Readonly<Record<string, number>>, looks: number): void {
  const counts = perPod(calls);
  const report = JSON.stringify(counts, null, 2);
  let shared = 0;
  for (const [kind, count] of Object.entries(counts)) {
    if (kind.startsWith('admin')) continue;
    const limit = kind === LOOKS ? looks : allowed[kind];
    if (limit === undefined) shared += count;
    else assert.ok(count <= limit, `${kind}: ${count} for a pod, not ${limit}\n${report}`);
  }
  assert.ok(shared <= SHARED_MAX, `${shared} requests for a pod beside those of its own life\n${report}`);
}

test('the cost of a pod over its lifetime: one request per step, over all components', async (t) => {
  const cluster = await startWholeCluster({ a: {}, b: {} });
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, calls } = cluster;
  await waitFor('two nodes that take pods', async () => {
    const nodes = (await admin.list(NODES)).items;
    return nodes.length === 2 && nodes.every(({ spec }) => (spec.taints ?? []).length === 0);
  });
  const web = await admin.create(DEPLOYMENTS, { ...deployment, spec: { ...deployment.spec, replicas: 0 } });
  const resize = (replicas: number): Promise<Deployment> =>
    admin.patch(DEPLOYMENTS, { namespace: 'default', name: 'web' }, { type: 'merge', body: { spec: { replicas } } });
  assert.equal(web.spec.replicas, 0);
  /** Ends when the nodes have sent their events, too: they are sent beside the work, and may come after it. */
  const stepOf = async (replicas: number, eventsOfNodes: number): Promise<readonly WireCall[]> => {
    const before = calls.length;
    await resize(replicas);
    await waitFor(
      `${replicas} pods`,
      async () => {
        const { status } = await admin.get(DEPLOYMENTS, { namespace: 'default', name: 'web' });
        const pods = (await admin.list(PODS, { namespace: 'default' })).items;
        return (
          (status.availableReplicas ?? 0) === replicas &&
          (status.replicas ?? 0) === replicas &&
          pods.length === replicas
        );
      },
      60_000,
    );
    await waitFor('the events of the nodes', async () => {
      const sent = calls.slice(before).filter((call) => kindOf(call) === 'node: POST events');
      return sent.length >= eventsOfNodes * PODS_WANTED;
    });
    return calls.slice(before);
  };
  check(await stepOf(PODS_WANTED, 3), COMES, 1.1);
  check(await stepOf(0, 1), GOES, 1.1);
});
