import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  type KubeObject,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  type ResourceRef,
} from '@holdfast/api';
import { startCluster } from '../support/controller-cluster.ts';
import { waitFor } from '../support/wait.ts';

type Fleet = KubeObject & {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly replicas: number; readonly selector: string };
};

const FLEETS: ResourceRef<Fleet> = {
  group: 'ships.example.com',
  version: 'v1',
  kind: 'Fleet',
  plural: 'fleets',
  namespaced: true,
};

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'fleets.ships.example.com' },
  spec: {
    group: FLEETS.group,
    scope: 'Namespaced',
    names: { plural: 'fleets', kind: 'Fleet' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
              status: {
                type: 'object',
                properties: { replicas: { type: 'integer' }, selector: { type: 'string' } },
              },
            },
          },
        },
      },
    ],
  },
} as unknown as CustomResourceDefinition;

const named = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const metrics = {
  podUsage: () =>
    Promise.resolve(
      [0, 1].map((i) => ({
        pod: `ship-${i}`,
        takenAtMs: 0,
        windowMs: 0,
        containers: [{ name: 'main', usage: { cpu: 200 } }],
      })),
    ),
};
const autoscaling = {
  syncPeriodMs: 200,
  downscaleStabilizationMs: 0,
  cpuInitializationMs: 0,
  initialReadinessDelayMs: 0,
  tolerance: 0.1,
};

test('an autoscaler and a budget work on a custom resource through its scale', async (t) => {
  const cluster = await startCluster({ settings: { autoscaling }, metricsSource: () => metrics });
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin: client } = cluster;
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION);
  await waitFor('the kind is served', () =>
    client.list(FLEETS, { namespace: 'default' }).then(
      () => true,
      () => false,
    ),
  );
  const fleet = await client.create(FLEETS, {
    apiVersion: 'ships.example.com/v1',
    kind: 'Fleet',
    metadata: named('blue'),
    spec: { replicas: 2 },
  });
  await client.updateStatus(FLEETS, { ...fleet, status: { replicas: 2, selector: 'fleet=blue' } });
  for (const i of [0, 1]) {
    const created = await client.create<Pod>(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...named(`ship-${i}`),
        labels: { fleet: 'blue' },
        ownerReferences: [
          {
            apiVersion: 'ships.example.com/v1',
            kind: 'Fleet',
            name: 'blue',
            uid: fleet.metadata.uid ?? '',
            controller: true,
          },
        ],
      },
      spec: { containers: [{ name: 'main', image: 'ship:1', resources: { requests: { cpu: '100m' } } }] },
      status: {},
    } as unknown as Pod);
    const startTime = created.metadata.creationTimestamp;
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }];
    const status = { phase: 'Running', startTime, conditions };
    await client.updateStatus(PODS, { ...created, status } as unknown as Pod);
  }
  await client.create<PodDisruptionBudget>(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: named('blue'),
    spec: { maxUnavailable: '50%', selector: { matchLabels: { fleet: 'blue' } } },
    status: {},
  } as unknown as PodDisruptionBudget);
  await waitFor('the budget counts what the fleet asks for', async () => {
    const { status } = await client.get(POD_DISRUPTION_BUDGETS, named('blue'));
    return status.expectedPods === 2 && status.desiredHealthy === 1;
  });
  await client.create<HorizontalPodAutoscaler>(HORIZONTAL_POD_AUTOSCALERS, {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: named('blue'),
    spec: {
      scaleTargetRef: { apiVersion: 'ships.example.com/v1', kind: 'Fleet', name: 'blue' },
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 100 } } },
      ],
    },
    status: {},
  } as unknown as HorizontalPodAutoscaler);
  await waitFor('the fleet is made larger', async () => (await client.get(FLEETS, named('blue'))).spec.replicas === 4);
  const { status } = await client.get(HORIZONTAL_POD_AUTOSCALERS, named('blue'));
  assert.equal(status.currentReplicas, 2);
});
