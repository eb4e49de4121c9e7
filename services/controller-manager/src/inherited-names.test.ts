import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DAEMON_SETS,
  type KubeObject,
  NODES,
  PODS,
  type PodDisruptionBudget,
  REPLICA_SETS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ControllerDefinition } from './common/context.ts';
import { nameOf } from './common/meta.ts';
import { daemonSetController } from './controllers/daemonset/index.ts';
import { placementOn } from './controllers/daemonset/placement.ts';
import { decide as decideBudget } from './controllers/disruption/decide.ts';
import { replicaSetController } from './controllers/replicaset/index.ts';
import { statefulSetController } from './controllers/statefulset/index.ts';
import { daemonSet, node, pod, podTemplate, readyStatus, replicaSet, statefulSet } from './testing/builders.ts';
import { createWorld, DrivenController } from './testing/harness.ts';

/** Names that every object inherits. All are valid keys of labels. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf'];

const without = (key: string, app: string) => ({
  matchLabels: { app },
  matchExpressions: [{ key, operator: 'DoesNotExist' }],
});

async function podsOf(resource: ResourceRef, owner: KubeObject, controller: ControllerDefinition): Promise<number> {
  const world = createWorld();
  world.api.put(NODES, node('a'));
  world.api.put(resource, owner);
  await new DrivenController(world, controller).settle();
  return world.api.list(PODS).length;
}

for (const key of INHERITED) {
  test(`a label selector with "${key}" creates no more pods than requested`, async () => {
    const set = replicaSet({ selector: without(key, 'web') });
    assert.equal(await podsOf(REPLICA_SETS, set, replicaSetController), 3);
    const daemons = daemonSet({ selector: without(key, 'agent') });
    assert.equal(await podsOf(DAEMON_SETS, daemons, daemonSetController), 1);
    const ordered = statefulSet({ selector: without(key, 'db'), podManagementPolicy: 'Parallel' });
    assert.equal(await podsOf(STATEFUL_SETS, ordered, statefulSetController({ resources: [] })), 3);
  });
}

test('a node selector with an inherited name requires the label itself', () => {
  const template = podTemplate();
  const selecting = { ...template, spec: { ...template.spec, nodeSelector: { constructor: 'x' } } };
  assert.equal(placementOn(selecting, node('a')).shouldRun, false);
  assert.equal(placementOn(selecting, node('a', { labels: { constructor: 'x' } })).shouldRun, true);
});

test('a pod called "constructor" is healthy for its budget', () => {
  const budget: PodDisruptionBudget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { namespace: 'default', name: 'web' },
    spec: { selector: {}, minAvailable: 0 },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0, disruptedPods: {} },
  };
  const named = pod({ name: 'constructor', uid: 'p' }, readyStatus('2026-01-01T00:00:00Z'));
  const { status } = decideBudget({ budget, pods: [named], scaleOf: () => undefined }, 1_767_225_600_000);
  assert.equal(status?.currentHealthy, 1, nameOf(named));
});
