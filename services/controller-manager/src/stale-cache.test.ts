import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DAEMON_SETS,
  type KubeObject,
  NODES,
  PODS,
  REPLICA_SETS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import { isTerminating, keyOf, revisionOf, targetOf, uidOf } from './common/meta.ts';
import { isActive } from './common/pods.ts';
import { CACHE_BARRIER_RECHECK_MS } from './limits.ts';
import { daemonSet, node, replicaSet, statefulSet } from './testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from './testing/harness.ts';
import { runKubelets } from './testing/kubelet-model.ts';
import { CONTROLLERS } from './testing/scenarios.ts';

const start = (world: World): readonly DrivenController[] =>
  CONTROLLERS.map((definition) => new DrivenController(world, definition));

const active = (world: World): number => world.api.list(PODS).filter(isActive).length;

async function running<T extends KubeObject>(kind: ResourceRef<T>, owner: T): Promise<World> {
  const world = createWorld();
  world.api.put(NODES, node('node-a'));
  await world.api.client('user').create(kind, owner);
  const controllers = start(world);
  for (let round = 0; round < 4; round++) {
    await settleAll(controllers);
    runKubelets(world);
    world.clock.skip(10_000);
  }
  await settleAll(controllers);
  return world;
}

test('[SAFE-15] a cache with an older size of the set starts and deletes no pod for it', async () => {
  for (const [before, after] of [
    [3, 1],
    [1, 3],
  ] as const) {
    const world = await running(REPLICA_SETS, replicaSet({ replicas: before }));
    assert.equal(active(world), before);
    const [set] = world.api.list(REPLICA_SETS);
    assert.ok(set);
    world.api.cache(REPLICA_SETS).freeze();
    world.api.put(REPLICA_SETS, {
      ...set,
      metadata: { ...set.metadata, generation: 2 },
      spec: { ...set.spec, replicas: after },
    });
    const [pod] = world.api.list(PODS);
    assert.ok(pod);
    await world.api.client('user').delete(PODS, targetOf(pod), { gracePeriodSeconds: 0 });
    const controllers = start(world);
    await settleAll(controllers);
    assert.equal(active(world), before - 1, 'the wish that the cache shows is not the wish any more');
    world.api.cache(REPLICA_SETS).thaw();
    await settleAll(controllers);
    assert.equal(active(world), after);
  }
});

test('a cache that does not show that its owner is terminating starts no replacement of its dependents', async () => {
  const cases: readonly (readonly [ResourceRef, KubeObject])[] = [
    [REPLICA_SETS, replicaSet()],
    [STATEFUL_SETS, statefulSet()],
    [DAEMON_SETS, daemonSet()],
  ];
  for (const [kind, owner] of cases) {
    const world = await running(kind, owner);
    const pods = world.api.list(PODS).length;
    assert.ok(pods > 0, kind.plural);
    world.api.cache(kind).freeze();
    const user = world.api.client('user');
    for (const object of world.api.list(kind))
      await user.delete(kind, targetOf(object), { propagationPolicy: 'Foreground' });
    for (const pod of world.api.list(PODS)) await user.delete(PODS, targetOf(pod));
    await settleAll(start(world));
    assert.deepEqual(
      [world.api.list(PODS).length, world.api.list(PODS).filter(isTerminating).length],
      [pods, pods],
      kind.plural,
    );
  }
});

test('the name of a pod deleted before the cache showed it is reused while the cache still has a gap', async () => {
  const world = createWorld();
  const cache = world.api.cache(PODS);
  cache.freeze();
  await world.api.client('user').create(STATEFUL_SETS, statefulSet());
  const controllers = start(world);
  const settle = async (): Promise<readonly string[]> => {
    world.clock.skip(CACHE_BARRIER_RECHECK_MS);
    await settleAll(controllers);
    return world.api.list(PODS).map(uidOf);
  };
  const [first] = await settle();
  const [pod] = world.api.list(PODS);
  assert.ok(pod !== undefined && first !== undefined);
  await world.api.client('user').delete(PODS, targetOf(pod), { gracePeriodSeconds: 0 });
  assert.deepEqual(await settle(), [], 'nothing says that it has been seen');
  cache.overtake(revisionOf(pod) + 1, keyOf(pod));
  const [second, ...others] = await settle();
  assert.ok(second !== undefined && second !== first);
  assert.deepEqual(others, []);
});
