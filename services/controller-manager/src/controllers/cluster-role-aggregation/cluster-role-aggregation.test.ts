import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLUSTER_ROLES, type ClusterRole } from '@holdfast/api';
import fc from 'fast-check';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { decide } from './decide.ts';
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

test('a role has the rules of the roles that it selects, transitively, and no others', async () => {
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

const someRoles = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'whole'),
    resource: fc.constantFrom('pods', 'secrets', 'nodes'),
    part: fc.constantFrom('one', 'two', 'none'),
  }),
  { selector: ({ name }) => name },
);

test('with any roles: the rules are exactly those of the selected roles, each once, in any order, and a second pass changes nothing', () => {
  fc.assert(
    fc.property(someRoles, fc.uniqueArray(fc.constantFrom('one', 'two')), (some, selected) => {
      const roles = some.map(({ name, resource, part }) => role(name, resource, { part }));
      const clusterRoleSelectors = selected.map((part) => ({ matchLabels: { part } }));
      const before: ClusterRole = {
        ...role('whole', 'forged', { part: 'one' }),
        aggregationRule: { clusterRoleSelectors },
      };
      const after = decide(before, roles);
      assert.ok(after !== undefined, 'what nobody gave is taken back');
      const union = some.filter(({ name, part }) => name !== 'whole' && selected.some((each) => each === part));
      const resources = (after.rules ?? []).flatMap((rule) => rule.resources ?? []);
      assert.deepEqual(resources.toSorted(), [...new Set(union.map(({ resource }) => resource))].sort());
      assert.deepEqual({ ...after, rules: before.rules }, before, 'only rules change');
      assert.deepEqual(decide(before, roles.toReversed()), after);
      assert.equal(decide(after, roles.toReversed()), undefined, 'no thrash');
      assert.ok(
        roles.every((each) => decide(each, roles) === undefined),
        'plain roles are left alone',
      );
    }),
  );
});

test('what somebody else takes back again and again is written a few times, and then once in a while', async () => {
  const world = createWorld();
  const controller = new DrivenController(world, clusterRoleAggregationController);
  world.api.put(CLUSTER_ROLES, role('a', 'secrets', { in: 'all' }));
  const writesAfter = async (rounds: number): Promise<number> => {
    const before = world.api.writes.length;
    for (let round = 0; round < rounds; round++) {
      world.api.put(CLUSTER_ROLES, whole('all', { round: `${round}` }, { in: 'all' }));
      await controller.settle();
    }
    return world.api.writes.length - before;
  };
  assert.equal(await writesAfter(50), 5);
  world.clock.skip(1_000);
  await controller.settle();
  const resources = world.api.get(CLUSTER_ROLES, { name: 'all' }).rules?.flatMap((rule) => rule.resources ?? []);
  assert.deepEqual(resources, ['secrets'], 'it is right in the end');
});
