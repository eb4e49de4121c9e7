import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DAEMON_SETS,
  JOBS,
  type KubeObject,
  NODES,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceRef,
} from '@holdfast/api';
import { nameOf, targetOf } from './common/meta.ts';
import { daemonSet, job, node, replicaSet, replicationController } from './testing/builders.ts';
import { createWorld, DrivenController, settleAll } from './testing/harness.ts';
import { makeReady } from './testing/kubelet-model.ts';
import { CONTROLLERS } from './testing/scenarios.ts';

const OWNERS: readonly (readonly [string, ResourceRef, KubeObject])[] = [
  ['replicaset', REPLICA_SETS, replicaSet({ replicas: 2 })],
  ['replicationcontroller', REPLICATION_CONTROLLERS, replicationController({ replicas: 2 })],
  ['daemonset', DAEMON_SETS, daemonSet()],
  ['job', JOBS, job({ completions: 2, parallelism: 2 })],
  ['job', JOBS, job({ completions: 2, parallelism: 2, completionMode: 'Indexed' })],
];

for (const [name, resource, owner] of OWNERS) {
  test(`[SAFE-15] ${name}: a replacement has a name that no pod of it had, also when the pod was gone at once`, async () => {
    const world = createWorld();
    const controllers = CONTROLLERS.filter((each) => each.name === name).map(
      (each) => new DrivenController(world, each),
    );
    for (const on of ['a', 'b']) world.api.put(NODES, node(on));
    await world.api.client('user').create(resource, owner);
    await settleAll(controllers);
    const seen = new Set(world.api.list(PODS).map(nameOf));
    assert.equal(seen.size, 2);
    for (let round = 0; round < 20; round++) {
      for (const pod of world.api.list(PODS)) makeReady(world, pod);
      const [victim] = world.api.list(PODS);
      assert.ok(victim);
      world.api.drop(PODS, targetOf(victim));
      world.clock.skip(round % 2 === 0 ? 1_000 : 120_000);
      await settleAll(controllers);
      const names = world.api.list(PODS).map(nameOf);
      assert.equal(names.length, 2);
      const fresh = names.filter((each) => !seen.has(each));
      assert.equal(fresh.length, 1, `round ${round}: ${names.join()} after ${[...seen].join()}`);
      seen.add(fresh[0] ?? '');
    }
  });
}
