import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, NODES, POD_DISRUPTION_BUDGETS, PODS, type Pod } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { waitFor } from '../support/wait.ts';
import { startWholeCluster, type WholeCluster } from '../support/whole-cluster.ts';

const WEB = { namespace: 'default', name: 'web' };
const LABELS = { app: 'web' };
const selector = { matchLabels: LABELS };

async function startWorkload(): Promise<WholeCluster> {
  const cluster = await startWholeCluster({ a: {}, b: {}, c: {} });
  const { admin } = cluster;
  await waitFor('three nodes that take pods', async () => {
    const nodes = (await admin.list(NODES)).items;
    return nodes.length === 3 && nodes.every(({ spec }) => (spec.taints ?? []).length === 0);
  });
  await admin.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: WEB,
    spec: {
      replicas: 3,
      selector,
      strategy: {},
      template: {
        metadata: { labels: LABELS },
        spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'pause', resources: {} }] },
      },
    },
    status: {},
  });
  return cluster;
}

const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** Only these, and all of them ready. */
const settled = (
  { admin }: WholeCluster,
  count: number,
  holds: (pods: readonly Pod[]) => boolean = () => true,
): Promise<readonly Pod[]> =>
  waitFor(`${count} ready pods`, async () => {
    const { items } = await admin.list(PODS, { namespace: 'default' });
    const { status } = await admin.get(DEPLOYMENTS, WEB);
    const isTold = (status.readyReplicas ?? 0) === count && (status.replicas ?? 0) === count;
    return items.length === count && items.every(isReady) && isTold && holds(items) && items;
  });

const uids = (pods: readonly Pod[]): ReadonlySet<string> => new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
const targetOf = (pod: Pod | undefined) => ({ namespace: 'default', name: pod?.metadata.name ?? '' });
const merge = (body: object) => ({ type: 'merge', body }) as const;

test('[DISR-02] disruptions without a budget: deletion, a new template, a drained node, scale-down, deletion of the controller', async (t) => {
  const cluster = await startWorkload();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  const first = await settled(cluster, 3);
  await admin.delete(PODS, targetOf(first[0]));
  const second = await settled(cluster, 3, (pods) => !uids(pods).has(first[0]?.metadata.uid ?? ''));
  assert.equal(second.filter(({ metadata }) => uids(first).has(metadata.uid ?? '')).length, 2, 'the others stay');

  const template = { metadata: { annotations: { round: '2' } } };
  await admin.patch(DEPLOYMENTS, WEB, merge({ spec: { template } }));
  const third = await settled(cluster, 3, (pods) =>
    pods.every(({ metadata }) => !uids(second).has(metadata.uid ?? '')),
  );

  const drained = third[0]?.spec.nodeName ?? '';
  await admin.patch(NODES, { name: drained }, merge({ spec: { unschedulable: true } }));
  for (const pod of third.filter(({ spec }) => spec.nodeName === drained)) await admin.evict(targetOf(pod));
  await settled(cluster, 3, (pods) => pods.every(({ spec }) => spec.nodeName !== drained));

  await admin.patch(DEPLOYMENTS, WEB, merge({ spec: { replicas: 1 } }));
  await settled(cluster, 1);
  await admin.delete(DEPLOYMENTS, WEB);
  await waitFor('no pod is left', async () => (await admin.list(PODS, { namespace: 'default' })).items.length === 0);
});

test('[DISR-02] a budget blocks evictions, not deletions of pods or their controller', async (t) => {
  const cluster = await startWorkload();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  const [pod, ...others] = await settled(cluster, 3);
  await admin.create(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: WEB,
    spec: { minAvailable: 3, selector },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
  const healthyIs = (count: number): Promise<true> =>
    waitFor(`the budget counts ${count}`, async () => {
      const { status, metadata } = await admin.get(POD_DISRUPTION_BUDGETS, WEB);
      return status.observedGeneration === metadata.generation && status.currentHealthy === count;
    });
  await healthyIs(3);
  const isRefused = (error: unknown): boolean => error instanceof StatusError && error.code === 429;
  await assert.rejects(admin.evict(targetOf(pod)), isRefused);
  await admin.delete(PODS, targetOf(pod));
  await assert.rejects(admin.evict(targetOf(others[0])), isRefused);
  await settled(cluster, 3, (pods) => !uids(pods).has(pod?.metadata.uid ?? ''));
  await healthyIs(3);
  await admin.delete(DEPLOYMENTS, WEB);
  await waitFor('no pod is left', async () => (await admin.list(PODS, { namespace: 'default' })).items.length === 0);
});
