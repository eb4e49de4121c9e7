import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSelfFenced, LEASES, type Lease, NODES, PODS, podCondition, promiseOf, SELF_FENCING } from '@holdfast/api';
import { isTerminating } from '../../common/meta.ts';
import { node, pod, readyStatus } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { waitMs } from './decide.ts';
import { selfFencingController } from './index.ts';

const CLOCK_RATE = 0.01;
const WAIT_MS = waitMs(8_000, { clockRate: CLOCK_RATE, marginMs: 2_000 });
const NAMESPACE = 'kube-node-lease';

/** Nodes `a` and `b` promise and renew; `quiet` ones do not. */
class Cluster {
  readonly world: World = createWorld();
  readonly quiet = new Set<string>();
  controller: DrivenController;

  constructor() {
    for (const name of ['a', 'b']) {
      this.world.api.put(NODES, node(name));
      this.renew(name);
    }
    this.controller = this.boot();
  }

  boot(): DrivenController {
    return new DrivenController(this.world, selfFencingController({ clockRate: CLOCK_RATE }));
  }

  addPod(name: string, on: string, hostname?: string): void {
    const identity = hostname === undefined ? {} : { hostname };
    const tolerations = [{ operator: 'Exists' }];
    this.world.api.put(
      PODS,
      pod({ name }, readyStatus('2025-12-31T00:00:00Z'), { nodeName: on, tolerations, ...identity }),
    );
  }

  pod(name: string) {
    const found = this.world.api.list(PODS).find(({ metadata }) => metadata.name === name);
    assert.ok(found !== undefined);
    return found;
  }

  node(name: string) {
    const found = this.world.api.list(NODES).find(({ metadata }) => metadata.name === name);
    assert.ok(found !== undefined);
    return found;
  }

  promise(name: string) {
    return promiseOf(this.world.api.list(LEASES).find(({ metadata }) => metadata.name === name));
  }

  renew(name: string): void {
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: NAMESPACE, annotations: { [SELF_FENCING]: 'exclusive' } },
      spec: { leaseDurationSeconds: 8, renewTime: String(this.world.clock.monotonic()) },
    };
    this.world.api.put(LEASES, lease);
  }

  async run(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.world.clock.skip(500);
      if (this.world.clock.monotonic() % 2_000 === 0)
        for (const name of ['a', 'b']) if (!this.quiet.has(name)) this.renew(name);
      await this.controller.settle();
    }
  }
}

test('[FENCE-02] [SAFE-28] a node that stops renewing its promise is fenced by it, and its exclusive pods are deleted whatever they tolerate', async () => {
  const cluster = new Cluster();
  cluster.addPod('db-0', 'a', 'db-0');
  cluster.addPod('web-x', 'a');
  cluster.addPod('db-1', 'b', 'db-1');
  await cluster.run(4_000);
  cluster.quiet.add('a');
  await cluster.run(WAIT_MS - 500);
  assert.equal(cluster.promise('a')?.isBroken, false);
  assert.ok(!isTerminating(cluster.pod('db-0')));
  await cluster.run(1_500);
  assert.equal(cluster.promise('a')?.isBroken, true);
  assert.ok(isSelfFenced(cluster.node('a')));
  assert.ok(isTerminating(cluster.pod('db-0')));
  assert.equal(podCondition(cluster.pod('db-0'), 'NodeDown')?.reason, 'NodePartitioned');
  assert.ok(!isTerminating(cluster.pod('web-x')), 'nothing is promised of it');
  assert.ok(!isTerminating(cluster.pod('db-1')));
  cluster.quiet.delete('a');
  await cluster.run(3_000);
  assert.equal(isSelfFenced(cluster.node('a')), false, 'the next promise ends it');
});

test('[FENCE-10] a renewal committed before the break wins, and the wait restarts', async () => {
  const cluster = new Cluster();
  await cluster.run(4_000);
  cluster.quiet.add('a');
  let tries = 0;
  cluster.world.api.beforeWrite = ({ key }) => {
    if (key !== `${NAMESPACE}/a` || tries++ > 0) return;
    cluster.renew('a');
  };
  await cluster.run(WAIT_MS + 1_000);
  assert.equal(tries, 1, 'the break was tried');
  assert.equal(cluster.promise('a')?.isBroken, false);
  assert.ok(!isSelfFenced(cluster.node('a')));
});

test('[SAFE-15] no write of this controller ends a pod', async () => {
  const cluster = new Cluster();
  cluster.addPod('db-0', 'a', 'db-0');
  cluster.quiet.add('a');
  await cluster.run(WAIT_MS + 3_000);
  const deletes = cluster.world.api.writes.filter(({ verb }) => verb === 'delete');
  assert.deepEqual(
    deletes.map(({ key, request }) => [key, Object.keys(request ?? {})]),
    [['default/db-0', ['uid']]],
  );
});

test('a restarted process waits for the whole promise again', async () => {
  const cluster = new Cluster();
  await cluster.run(4_000);
  cluster.quiet.add('a');
  await cluster.run(WAIT_MS - 1_000);
  cluster.controller.kill();
  cluster.controller = cluster.boot();
  await cluster.run(WAIT_MS - 1_000);
  assert.equal(cluster.promise('a')?.isBroken, false);
  await cluster.run(2_000);
  assert.equal(cluster.promise('a')?.isBroken, true);
});

test('a node that is already fenced gets the reason of its released pods when it was not set', async () => {
  const cluster = new Cluster();
  cluster.quiet.add('a');
  await cluster.run(WAIT_MS + 3_000);
  const { status, ...fenced } = cluster.node('a');
  const reason = 'PromiseOfAllWaitedOut';
  const conditions = (status.conditions ?? []).map((each) => (each.type === 'SelfFenced' ? { ...each, reason } : each));
  cluster.world.api.put(NODES, { ...fenced, status: { ...status, conditions } });
  cluster.controller = cluster.boot();
  await cluster.run(2_000);
  const said = cluster.node('a').status.conditions?.find(({ type }) => type === 'SelfFenced');
  assert.deepEqual([said?.status, said?.reason], ['True', 'PromiseWaitedOut']);
});
