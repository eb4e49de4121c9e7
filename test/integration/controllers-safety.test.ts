import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, LEASES, NAMESPACES, NO_NODE_INFO, NODES, type Node, PODS, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { startCluster } from '../support/controller-cluster.ts';
import { waitFor } from '../support/wait.ts';

const node = (name: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: {},
  status: {
    daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    nodeInfo: { ...NO_NODE_INFO, architecture: 'amd64', operatingSystem: 'linux' },
  },
});

const pod = (namespace: string, name: string, nodeName: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name },
  spec: {
    nodeName,
    containers: [{ name: 'main', image: 'web:1', resources: {} }],
    tolerations: [
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 },
    ],
  },
  status: {},
});

/** Acts as a kubelet: reports Ready and renews the lease. */
async function report(client: ApiClient, name: string, beat: number): Promise<void> {
  const stored = await client.get(NODES, { name });
  if (stored.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') !== true) {
    const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }];
    // As kubelets do: controllers write the same node meanwhile.
    await client.patch(NODES, { name }, { type: 'strategic', body: { status: { conditions } }, subresource: 'status' });
  }
  const lease = await client.find(LEASES, { namespace: 'kube-node-lease', name });
  const spec = { renewTime: `2026-01-01T00:00:00.${String(beat).padStart(6, '0')}Z` };
  const metadata = { namespace: 'kube-node-lease', name };
  const renewed = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  await (lease === undefined ? client.create(LEASES, renewed) : client.update(LEASES, { ...lease, spec }));
}

test('[SAFE-16] [SAFE-17] a namespace empties gracefully, reports its remaining content, and is deleted when an administrator releases it', async () => {
  await using cluster = await startCluster();
  const { admin } = cluster;
  await admin.create(NODES, node('a'));
  await admin.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team' },
    spec: {},
    status: {},
  });
  await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'team', name: 'c' } });
  await admin.create(PODS, pod('team', 'p', 'a'));
  await admin.delete(NAMESPACES, { name: 'team' });
  const waiting = await waitFor('an honest namespace', async () => {
    const current = await admin.get(NAMESPACES, { name: 'team' });
    return current.status.conditions?.some((c) => c.type === 'NamespaceContentRemaining') ? current : undefined;
  });
  const told = waiting.status.conditions?.find((c) => c.type === 'NamespaceContentRemaining');
  assert.equal(told?.message, 'Some resources are remaining: pods. has 1 resource instances');
  assert.equal(waiting.status.phase, 'Terminating');
  await admin.delete(PODS, { namespace: 'team', name: 'p' }, { gracePeriodSeconds: 0 });
  await waitFor('the namespace gone', async () => (await admin.find(NAMESPACES, { name: 'team' })) === undefined);
});

test('[SAFE-27] [SAFE-28] a silent node is detected, and its pod is marked for deletion but not ended', async () => {
  await using cluster = await startCluster({ settings: { nodeMonitorGraceSeconds: 6 } });
  const { admin } = cluster;
  for (const name of ['a', 'b']) await admin.create(NODES, node(name));
  await admin.create(PODS, pod('default', 'p', 'a'));
  let beat = 0;
  await report(admin, 'a', beat);
  const lost = await waitFor(
    'a terminating pod',
    async () => {
      await report(admin, 'b', ++beat);
      const current = await admin.get(PODS, { namespace: 'default', name: 'p' });
      return current.metadata.deletionTimestamp === undefined ? undefined : current;
    },
    40_000,
  );
  const ready = (await admin.get(NODES, { name: 'a' })).status.conditions?.find((c) => c.type === 'Ready');
  assert.deepEqual([ready?.status, ready?.message], ['Unknown', 'Kubelet stopped posting node status.']);
  assert.equal(lost.status.reason, 'NodeLost');
  assert.equal(lost.status.conditions?.find((c) => c.type === 'NodeDown')?.status, 'True');
  assert.deepEqual((await admin.get(NODES, { name: 'b' })).spec.taints ?? [], []);
});

test('[GC-04] [SAFE-11] [SAFE-15] the pod garbage collector may end pods that never ran; other controllers may end none', async () => {
  await using cluster = await startCluster();
  await cluster.admin.create(NODES, node('a'));
  await cluster.admin.create(PODS, pod('default', 'p', 'a'));
  const target = { namespace: 'default', name: 'p' };
  for (const client of [cluster.manager, cluster.podGc]) {
    await assert.rejects(client.delete(PODS, target, { gracePeriodSeconds: 0 }), (error: unknown) => {
      assert.ok(error instanceof StatusError);
      return error.code === 403;
    });
  }
  await cluster.admin.delete(NODES, { name: 'a' });
  await cluster.podGc.delete(PODS, target, { gracePeriodSeconds: 0 });
  assert.equal(await cluster.admin.find(PODS, target), undefined);
});
