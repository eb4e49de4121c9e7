import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEPLOYMENTS,
  type Deployment,
  HORIZONTAL_POD_AUTOSCALERS,
  HORIZONTAL_POD_AUTOSCALERS_V1,
  type HorizontalPodAutoscaler,
  PODS,
  REPLICATION_CONTROLLERS,
  type ReplicationController,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { startCluster, type TestCluster } from '../support/controller-cluster.ts';
import { waitFor } from '../support/wait.ts';

const autoscaling = {
  syncPeriodMs: 200,
  downscaleStabilizationMs: 0,
  cpuInitializationMs: 0,
  initialReadinessDelayMs: 0,
  tolerance: 0.1,
};

/** Every pod that runs has used `milli` thousandths of a core, or whatever the test has set since. */
class Load {
  milli = 100;
  readonly source = (client: ApiClient) => ({
    podUsage: async (namespace: string, labelSelector: string) =>
      (await client.list(PODS, { namespace, labelSelector })).items
        .filter(({ status }) => status.phase === 'Running')
        .map(({ metadata }) => ({
          pod: metadata.name ?? '',
          takenAtMs: 0,
          windowMs: 0,
          containers: [{ name: 'main', usage: { cpu: this.milli } }],
        })),
  });
}

const named = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image: 'web:1', resources: { requests: { cpu: '100m' } } }] },
});

async function createWorkloads(client: ApiClient): Promise<void> {
  const labels = (app: string) => ({ selector: { matchLabels: { app } }, template: template(app) });
  await client.create<Deployment>(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: named('web'),
    spec: { replicas: 1, strategy: {}, ...labels('web') },
    status: {},
  });
  await client.create<StatefulSet>(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: named('db'),
    spec: { replicas: 1, serviceName: 'db', podManagementPolicy: 'Parallel', updateStrategy: {}, ...labels('db') },
    status: { replicas: 0 },
  });
  await client.create<ReplicationController>(REPLICATION_CONTROLLERS, {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: named('old'),
    spec: { replicas: 1, selector: { app: 'old' }, template: template('old') },
    status: { replicas: 0 },
  });
}

const scalerOf = (kind: string, apiVersion: string, name: string): HorizontalPodAutoscaler => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: named(name),
  spec: {
    scaleTargetRef: { apiVersion, kind, name },
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
  },
  status: { desiredReplicas: 0, currentMetrics: null },
});

/** Stands in for the nodes: every pod runs and is ready. */
async function playNodes({ admin }: TestCluster): Promise<void> {
  const since = '2020-01-01T00:00:00Z';
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: since }];
  for (const pod of (await admin.list(PODS)).items) {
    if (pod.status.phase === 'Running' || pod.metadata.deletionTimestamp !== undefined) continue;
    const status = { ...pod.status, phase: 'Running', startTime: since, conditions };
    // Another writer may have changed it meanwhile; the next pass sees it.
    await admin.updateStatus(PODS, { ...pod, status }).catch(() => undefined);
  }
}

async function sizes({ admin }: TestCluster): Promise<readonly (number | undefined)[]> {
  const [web, db, old] = await Promise.all([
    admin.get(DEPLOYMENTS, named('web')),
    admin.get(STATEFUL_SETS, named('db')),
    admin.get(REPLICATION_CONTROLLERS, named('old')),
  ]);
  return [web.spec.replicas, db.spec.replicas, old.spec.replicas];
}

const reached = (cluster: TestCluster, size: number): Promise<true> =>
  waitFor(`all workloads have size ${size}`, async () => {
    await playNodes(cluster);
    return (await sizes(cluster)).every((each) => each === size) || undefined;
  });

test('every kind with a scale is scaled up and down with its load, through the API and with two active managers', async () => {
  const load = new Load();
  await using cluster = await startCluster({ managers: 2, settings: { autoscaling }, metricsSource: load.source });
  const { admin } = cluster;
  await createWorkloads(admin);
  const wanted = [
    ['Deployment', 'apps/v1', 'web'],
    ['StatefulSet', 'apps/v1', 'db'],
    ['ReplicationController', 'v1', 'old'],
  ] as const;
  for (const [kind, version, name] of wanted) {
    await admin.create(HORIZONTAL_POD_AUTOSCALERS, scalerOf(kind, version, name));
  }
  await reached(cluster, 3);
  const told = await waitFor('its first version tells the same', async () => {
    const { status } = await admin.get(HORIZONTAL_POD_AUTOSCALERS_V1, named('web'));
    return status.currentCPUUtilizationPercentage === 100 && status.desiredReplicas === 3 ? status : undefined;
  });
  assert.match(told.lastScaleTime ?? '', /Z$/);
  load.milli = 10;
  await reached(cluster, 1);
});
