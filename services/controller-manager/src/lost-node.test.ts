import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEASES, NODES, PODS, type Pod, REPLICA_SETS } from '@holdfast/api';
import { formatMicroTime } from '@holdfast/platform';
import { isTerminating, nameOf, uidOf } from './common/meta.ts';
import { isActive } from './common/pods.ts';
import { nodeLifecycleController } from './controllers/node-lifecycle/index.ts';
import { createGracefulEviction } from './controllers/node-lifecycle/pod-eviction.ts';
import { readyCondition } from './controllers/node-lifecycle/taints.ts';
import { podGarbageController } from './controllers/pod-garbage/index.ts';
import { replicaSetController } from './controllers/replicaset/index.ts';
import { node, pod, readyStatus, replicaSet } from './testing/builders.ts';
import { createWorld, DrivenController, settleAll } from './testing/harness.ts';

/** Two nodes; the first one becomes silent. Its pods do not tolerate that and are evicted immediately. */
class Cluster {
  readonly world = createWorld();
  readonly controllers = [
    nodeLifecycleController({ nodeMonitorGraceMs: 50_000, podEviction: createGracefulEviction }),
    podGarbageController({ terminatedPodThreshold: 12_500 }),
    replicaSetController,
  ].map((definition) => new DrivenController(this.world, definition));
  readonly seen: Pod[] = [];

  constructor() {
    this.world.api.put(NODES, node('lost'));
    this.world.api.put(NODES, node('well'));
    this.world.api.cache(PODS).onChange(({ object }) => object !== undefined && this.seen.push(object));
  }

  async run(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 5) {
      this.world.clock.skip(5_000);
      this.world.api.put(LEASES, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'well', namespace: 'kube-node-lease' },
        spec: { renewTime: formatMicroTime(this.world.clock.now()) },
      });
      await settleAll(this.controllers);
    }
  }

  pods(): readonly Pod[] {
    return this.world.api.list(PODS);
  }
}

test('[POD-05] [POD-13] [LIFE-10] [LIFE-11] pods of a lost node are not recreated by themselves; they fail when the node is deleted', async () => {
  const cluster = new Cluster();
  const { api } = cluster.world;
  await api.client('user').create(REPLICA_SETS, replicaSet({ replicas: 1 }));
  await cluster.run(5);
  const [owned] = cluster.pods();
  assert.ok(owned);
  api.put(PODS, { ...owned, spec: { ...owned.spec, nodeName: 'lost' }, status: readyStatus('2026-01-01T00:00:00Z') });
  const bare = api.put(PODS, pod({ name: 'bare' }, readyStatus('2026-01-01T00:00:00Z'), { nodeName: 'lost' }));
  await cluster.run(200);
  const condition = readyCondition(api.get(NODES, { name: 'lost' }));
  assert.deepEqual([condition?.status, condition?.reason], ['Unknown', 'NodeStatusUnknown']);
  assert.ok(cluster.world.api.events.some(({ reason }) => reason === 'NodeNotReady'));
  const ofNode = cluster.pods().filter(({ spec }) => spec.nodeName === 'lost');
  assert.deepEqual(
    ofNode.map((each) => [isTerminating(each), each.status.phase]),
    [
      [true, 'Running'],
      [true, 'Running'],
    ],
  );
  const [replacement, ...others] = cluster.pods().filter(isActive);
  assert.ok(replacement);
  assert.deepEqual(others, []);
  assert.notEqual(uidOf(replacement), uidOf(owned));
  assert.equal(replacement.spec.nodeName, undefined, 'the scheduler chooses anew');
  api.drop(NODES, { name: 'lost' });
  await cluster.run(120);
  assert.deepEqual(cluster.pods().map(uidOf), [uidOf(replacement)], 'nobody makes the bare pod again');
  const ends = cluster.seen.filter((each) => each.status.phase === 'Failed').map(nameOf);
  assert.deepEqual(new Set(ends), new Set([nameOf(bare), nameOf(owned)]));
});
