import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEPLOYMENTS,
  LEASES,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  type ResourceRef,
  SERVICES,
} from '@holdfast/api';
import type { ControllerDefinition } from './common/context.ts';
import { controllerReference } from './common/meta.ts';
import { deployment, node, pod, readyStatus, replicaSet } from './testing/builders.ts';
import { createWorld, DrivenController, type World } from './testing/harness.ts';
import { CONTROLLERS } from './testing/scenarios.ts';

/** Steps until nothing is due: thousands of objects take thousands of passes. */
async function settle(controller: DrivenController): Promise<void> {
  while (await controller.step());
}

const KINDS: readonly ResourceRef[] = [
  NODES,
  LEASES,
  PODS,
  REPLICA_SETS,
  DEPLOYMENTS,
  SERVICES,
  POD_DISRUPTION_BUDGETS,
];

const visited = (world: World): number => KINDS.reduce((sum, kind) => sum + world.api.cache(kind).visited, 0);

/** Counts the objects that the controller reads because of one change, among `count` similar ones. */
async function costOf(
  definition: ControllerDefinition,
  count: number,
  { fill, change }: { readonly fill: (world: World, i: number) => void; readonly change: (world: World) => void },
): Promise<number> {
  const world = createWorld();
  for (let i = 0; i < count; i++) fill(world, i);
  const controller = new DrivenController(world, definition);
  await settle(controller);
  const before = visited(world);
  change(world);
  await settle(controller);
  return visited(world) - before;
}

const NODE_CHANGES = {
  fill: (world: World, i: number) => void world.api.put(NODES, node(`n${i}`)),
  change: (world: World) => {
    world.api.put(NODES, node('n1', { ready: 'False' }));
    world.api.put(NODES, node('new'));
    world.api.drop(NODES, { name: 'n2' });
  },
};

/** One application per namespace: a change of one does not affect the others. */
function fillNamespace(world: World, i: number): void {
  const namespace = `ns${i}`;
  const metadata = { namespace, uid: `d${i}` };
  const owner = deployment({ replicas: 1 }, { ...metadata, name: 'web' });
  world.api.put(DEPLOYMENTS, owner);
  const set = replicaSet(
    { replicas: 1 },
    { namespace, uid: `s${i}`, ownerReferences: [controllerReference(owner, owner)] },
  );
  world.api.put(REPLICA_SETS, set);
  world.api.put(PODS, webPod(i, readyStatus('2025-12-31T00:00:00Z')));
  world.api.put(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { namespace, name: 'web' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
  world.api.put(SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    status: { loadBalancer: {} },
  });
}

function webPod(i: number, status: ReturnType<typeof readyStatus>) {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: `s${i}`, controller: true }];
  const metadata = { namespace: `ns${i}`, name: 'web-1', uid: `p${i}`, labels: { app: 'web' }, ownerReferences };
  return pod(metadata, { ...status, podIP: '10.0.0.1' }, { nodeName: 'n1' });
}

const POD_CHANGES = {
  fill: fillNamespace,
  change: (world: World) => void world.api.put(PODS, webPod(1, { phase: 'Running' })),
};

for (const definition of CONTROLLERS) {
  test(`${definition.name}: the cost of a change does not grow with the cluster`, async () => {
    for (const [what, changes, many] of [
      ['node', NODE_CHANGES, 10_000],
      ['pod', POD_CHANGES, 2_000],
    ] as const) {
      const few = await costOf(definition, 100, changes);
      const all = await costOf(definition, many, changes);
      assert.ok(all <= few + 10, `one ${what} of 100: ${few} objects, of ${many}: ${all}`);
    }
  });
}
