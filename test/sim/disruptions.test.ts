import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, type Pod } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { SimCluster } from './cluster.ts';
import { appOf, isReady } from './workloads.ts';

const MINUTE_MS = 60_000;
const ZONE = 'topology.kubernetes.io/zone';
const LABELS = { app: 'web' };
const BUDGET = { namespace: 'default', name: 'web' };
const zoneOf = (node: string): string => (['node-1', 'node-2'].includes(node) ? 'left' : 'right');
const isIn = (zone: string) => (pod: Pod) => zoneOf(pod.spec.nodeName ?? '') === zone;

/** Four replicas on two racks, with what Kubernetes offers against the loss of one. */
async function createSpreadWorkload({ admin }: SimCluster): Promise<void> {
  const selector = { matchLabels: LABELS };
  await admin.create(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { ...BUDGET },
    spec: { minAvailable: 3, selector },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
  await admin.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas: 4,
      selector,
      strategy: {},
      template: {
        metadata: { labels: LABELS },
        spec: {
          containers: [{ name: 'main', image: 'busybox', command: ['stay'], resources: { requests: { cpu: '20' } } }],
          topologySpreadConstraints: [
            { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector: selector },
          ],
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: 'kubernetes.io/hostname', labelSelector: selector },
              ],
            },
          },
        },
      },
    },
    status: {},
  });
}

class Watcher {
  readonly #cluster: SimCluster;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  async pods(): Promise<readonly Pod[]> {
    const { items } = await this.#cluster.ask(this.#cluster.admin.list(PODS, { namespace: 'default' }));
    return items.filter((pod) => appOf(pod) === 'web');
  }

  /** Looks every few seconds; what has to hold all the time is checked at every look. */
  async until(
    what: string,
    deadlineMs: number,
    holds: (pods: readonly Pod[]) => boolean,
    always: (pods: readonly Pod[]) => void = () => {},
  ): Promise<readonly Pod[]> {
    const { kernel } = this.#cluster;
    for (const giveUpAt = kernel.elapsedMs + deadlineMs; kernel.elapsedMs < giveUpAt; await kernel.runFor(2_000)) {
      const pods = await this.pods();
      always(pods);
      if (holds(pods)) return pods;
    }
    throw new Error(
      `${what}: not within ${deadlineMs / 1000} s; ${JSON.stringify((await this.pods()).map(({ metadata, status, spec }) => [metadata, spec.nodeName, status]))}`,
    );
  }
}

const uids = (pods: readonly Pod[]): readonly string[] => pods.map(({ metadata }) => metadata.uid ?? '').toSorted();
const conditionOf = (pod: Pod, type: string): string | undefined =>
  pod.status.conditions?.find((condition) => condition.type === type)?.reason;

async function startSpread(seed: number): Promise<{ cluster: SimCluster; watcher: Watcher; before: readonly Pod[] }> {
  const labelsOf = (node: string): Record<string, string> => ({ [ZONE]: zoneOf(node) });
  const cluster = new SimCluster({ seed, nodes: 4, identities: /^none$/, labelsOf });
  const watcher = new Watcher(cluster);
  cluster.start();
  await cluster.kernel.runFor(20_000);
  await cluster.ask(createSpreadWorkload(cluster));
  const before = await watcher.until('four ready pods', MINUTE_MS, (pods) => pods.filter(isReady).length === 4);
  return { cluster, watcher, before };
}

test('[DISR-01] without terminations and lost nodes no pod disappears', async () => {
  const { cluster, watcher, before } = await startSpread(1);
  for (let looks = 0; looks < 3; looks++) {
    await cluster.kernel.runFor(6 * MINUTE_MS);
    assert.deepEqual(uids(await watcher.pods()), uids(before));
  }
});

test('[DISR-01] [DISR-02] [DISR-03] a rack is lost: the replicas on the other one continue, a budget does not prevent it, and then allows no further disruption', async () => {
  const { cluster, watcher, before } = await startSpread(2);
  for (const zone of ['left', 'right']) assert.equal(before.filter(isIn(zone)).length, 2, 'spread over the racks');
  assert.equal(new Set(before.map(({ spec }) => spec.nodeName)).size, 4, 'and over the nodes');
  for (const node of ['node-1', 'node-2']) cluster.network.isolate(node);
  const survivors = uids(before.filter(isIn('right')));
  const lost = uids(before.filter(isIn('left')));
  const after = await watcher.until(
    'the pods of the lost rack are given up',
    15 * MINUTE_MS,
    (pods) => pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length === 2,
    (pods) => assert.deepEqual(uids(pods.filter((pod) => isIn('right')(pod) && isReady(pod))), survivors),
  );
  const going = after.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  assert.deepEqual(uids(going), lost, 'nobody else');
  for (const pod of going) assert.equal(conditionOf(pod, 'DisruptionTarget'), 'DeletionByTaintManager');
  const budget = await cluster.ask(cluster.admin.get(POD_DISRUPTION_BUDGETS, BUDGET));
  assert.deepEqual([budget.status.currentHealthy, budget.status.disruptionsAllowed], [2, 0], 'the loss counts');
  const { name = '' } = after.find((pod) => isReady(pod) && isIn('right')(pod))?.metadata ?? {};
  const eviction = cluster.ask(cluster.admin.evict({ namespace: 'default', name }));
  await assert.rejects(eviction, (error: unknown) => error instanceof StatusError && error.code === 429);
});
