import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, type Deployment, JOBS, PODS, type Pod, REPLICA_SETS, STATEFUL_SETS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { startCluster } from '../support/controller-cluster.ts';
import { waitFor } from '../support/wait.ts';

const WEB = { namespace: 'default', name: 'web' };

const deployment = (replicas: number, image = 'web:1'): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...WEB },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    strategy: {},
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image, resources: {} }] } },
  },
  status: {},
});

const podsOf = async (client: ApiClient): Promise<readonly Pod[]> =>
  (await client.list(PODS, { namespace: 'default' })).items;

/** Stands in for the nodes: every pod runs and is ready, every terminating one has ended. */
async function playNodes(client: ApiClient): Promise<void> {
  for (const pod of await podsOf(client)) {
    if (pod.status.phase === 'Running') continue;
    const ready = { type: 'Ready', status: 'True' };
    await client.updateStatus(PODS, { ...pod, status: { ...pod.status, phase: 'Running', conditions: [ready] } });
  }
}

test('[POD-14] a Deployment creates a ReplicaSet and its pods, once, with two active managers', async () => {
  await using cluster = await startCluster({ managers: 2 });
  await cluster.admin.create(DEPLOYMENTS, deployment(5));
  await waitFor('five pods', async () => (await podsOf(cluster.admin)).length >= 5);
  await playNodes(cluster.admin);
  const done = await waitFor('an available Deployment', async () => {
    const current = await cluster.admin.get(DEPLOYMENTS, WEB);
    return current.status.availableReplicas === 5 ? current : undefined;
  });
  assert.equal(done.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
  assert.equal((await podsOf(cluster.admin)).length, 5);
  assert.equal((await cluster.admin.list(REPLICA_SETS)).items.length, 1);
});

test('[POD-15] a new template is rolled out and the old pods are replaced, not changed', async () => {
  await using cluster = await startCluster();
  await cluster.admin.create(DEPLOYMENTS, deployment(3));
  await waitFor('three pods', async () => (await podsOf(cluster.admin)).length === 3);
  const before = new Set((await podsOf(cluster.admin)).map((pod) => pod.metadata.uid));
  const stored = await cluster.admin.get(DEPLOYMENTS, WEB);
  await cluster.admin.update(DEPLOYMENTS, { ...stored, spec: deployment(3, 'web:2').spec });
  const after = await waitFor('three pods of the new template', async () => {
    await playNodes(cluster.admin);
    const pods = await podsOf(cluster.admin);
    return pods.length === 3 && pods.every((pod) => pod.spec.containers[0]?.image === 'web:2') ? pods : undefined;
  });
  assert.ok(after.every((pod) => !before.has(pod.metadata.uid)));
});

test('[SAFE-15] deleting a Deployment deletes its sets and pods', async () => {
  await using cluster = await startCluster();
  const { admin } = cluster;
  await admin.create(DEPLOYMENTS, deployment(2));
  await waitFor('two pods', async () => (await podsOf(admin)).length === 2);
  await admin.delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Foreground' });
  await waitFor('everything gone', async () => {
    const left = [await admin.list(DEPLOYMENTS), await admin.list(REPLICA_SETS), await admin.list(PODS)];
    return left.every(({ items }) => items.length === 0);
  });
});

test('orphaned sets and pods live on', async () => {
  await using cluster = await startCluster();
  const { admin } = cluster;
  await admin.create(DEPLOYMENTS, deployment(2));
  await waitFor('two pods', async () => (await podsOf(admin)).length === 2);
  await admin.delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Orphan' });
  await waitFor('the Deployment gone', async () => (await admin.find(DEPLOYMENTS, WEB)) === undefined);
  const [set] = (await admin.list(REPLICA_SETS)).items;
  assert.equal(set?.metadata.ownerReferences, undefined);
  assert.equal((await podsOf(admin)).length, 2);
});

test('[SAFE-22] [SAFE-24] a StatefulSet creates its names in order, each name once, with two active managers', async () => {
  await using cluster = await startCluster({ managers: 2 });
  const { admin } = cluster;
  const { selector, template } = deployment(0).spec;
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { namespace: 'default', name: 'db' },
    spec: { replicas: 3, serviceName: 'db', selector, template, updateStrategy: {} },
    status: { replicas: 0 },
  });
  await waitFor('three pods in order', async () => {
    const names = (await podsOf(admin)).map((pod) => pod.metadata.name);
    assert.ok(names.every((name) => ['db-0', 'db-1', 'db-2'].includes(name ?? '')));
    await playNodes(admin);
    return names.length === 3;
  });
  await playNodes(admin);
  const set = await waitFor('a ready set', async () => {
    const current = await admin.get(STATEFUL_SETS, { namespace: 'default', name: 'db' });
    return current.status.readyReplicas === 3 ? current : undefined;
  });
  assert.equal(set.status.currentRevision, set.status.updateRevision);
});

test('a Job counts each of its pods once, with two active managers', async () => {
  await using cluster = await startCluster({ managers: 2 });
  const { admin } = cluster;
  const target = { namespace: 'default', name: 'task' };
  const containers = [{ name: 'main', image: 'task:1', resources: {} }];
  await admin.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...target },
    spec: { completions: 12, parallelism: 4, template: { metadata: {}, spec: { restartPolicy: 'Never', containers } } },
    status: {},
  });
  const job = await waitFor('a complete Job', async () => {
    for (const pod of await podsOf(admin)) {
      if (pod.status.phase === 'Succeeded') continue;
      await admin.updateStatus(PODS, { ...pod, status: { ...pod.status, phase: 'Succeeded' } }).catch(() => {});
    }
    const current = await admin.get(JOBS, target);
    return current.status.completionTime === undefined ? undefined : current;
  });
  const succeeded = (await podsOf(admin)).filter(({ status }) => status.phase === 'Succeeded').length;
  assert.deepEqual([job.status.succeeded, job.status.uncountedTerminatedPods], [succeeded, {}]);
  await waitFor('pods that nobody holds', async () =>
    (await podsOf(admin)).every(({ metadata }) => (metadata.finalizers ?? []).length === 0),
  );
});
