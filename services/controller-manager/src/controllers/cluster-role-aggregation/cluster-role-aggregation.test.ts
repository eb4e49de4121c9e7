import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLUSTER_ROLES, type ClusterRole } from '@holdfast/api';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { clusterRoleAggregationController } from './index.ts';

const role = (name: string, resource: string, labels: Record<string, string>): ClusterRole => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, labels },
  rules: [{ apiGroups: [''], resources: [resource], verbs: ['get'] }],
});
const whole = (name: string, labels: Record<string, string>, selects: Record<string, string>): ClusterRole => ({
  ...role(name, 'forged', labels),
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: selects }] },
});

test('a role has the rules of those that it selects, through several steps, and of nobody else', async () => {
  const world = createWorld();
  const controller = new DrivenController(world, clusterRoleAggregationController);
  const resources = (name: string): readonly string[] =>
    (world.api.get(CLUSTER_ROLES, { name }).rules ?? []).flatMap((rule) => rule.resources ?? []);
  world.api.put(CLUSTER_ROLES, whole('all', {}, { in: 'all' }));
  world.api.put(CLUSTER_ROLES, whole('part', { in: 'all' }, { in: 'part' }));
  world.api.put(CLUSTER_ROLES, role('b', 'pods', { in: 'part' }));
  world.api.put(CLUSTER_ROLES, role('a', 'secrets', { in: 'all' }));
  world.api.put(CLUSTER_ROLES, role('c', 'nodes', { in: 'none' }));
  world.api.put(CLUSTER_ROLES, role('d', 'pods', { in: 'all' }));
  await controller.settle();
  assert.deepEqual(resources('part'), ['pods']);
  assert.deepEqual(resources('all'), ['secrets', 'pods']);
  const writes = world.api.writes.length;
  world.api.put(CLUSTER_ROLES, role('c', 'services', { in: 'none' }));
  await controller.settle();
  assert.equal(world.api.writes.length, writes);
  world.api.drop(CLUSTER_ROLES, { name: 'b' });
  world.api.drop(CLUSTER_ROLES, { name: 'd' });
  await controller.settle();
  assert.deepEqual([resources('part'), resources('all')], [[], ['secrets']]);
  assert.deepEqual(controller.errors, []);
});
